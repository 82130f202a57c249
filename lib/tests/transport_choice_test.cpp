// SPDX-License-Identifier: Apache-2.0
#include "transport_choice.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/host_group.hpp"

namespace switchyard {
namespace {

dispatch_inputs inputs_of(std::size_t hidden_bytes, std::size_t extra_bytes) {
  dispatch_inputs inputs;
  inputs.hidden_states = {nullptr, hidden_bytes, true};
  inputs.topk_ids = {nullptr, 8, true};
  inputs.extra = {nullptr, extra_bytes, extra_bytes != 0};
  return inputs;
}

TEST(transport_choice, follows_from_the_config_the_stride_and_the_widths) {
  one_sided_config config;
  config.lamport_max_tokens = 10;
  const auto even = inputs_of(64, 0);
  for (const auto lamport : {choice::automatic, choice::on}) {
    config.lamport = lamport;
    EXPECT_EQ(choose_transport(config, 9, even).chosen, transport::lamport);
    EXPECT_EQ(choose_transport(config, 10, even).chosen, transport::lamport);
    const auto above = choose_transport(config, 11, even);
    EXPECT_EQ(above.chosen, transport::fence);
    EXPECT_EQ(above.reason, "runtime_max_tokens_per_rank is above lamport_max_tokens");
    EXPECT_EQ(choose_transport(config, 1, inputs_of(64, 20)).chosen, transport::lamport);
    const auto odd = choose_transport(config, 1, inputs_of(64, 7));
    EXPECT_EQ(odd.chosen, transport::fence);
    EXPECT_EQ(odd.reason, "a payload's row_bytes is not a multiple of 4");
    EXPECT_EQ(choose_transport(config, 1, inputs_of(66, 0)).chosen, transport::fence);
  }
  config.lamport = choice::off;
  EXPECT_EQ(choose_transport(config, 1, even).chosen, transport::fence);
  EXPECT_EQ(choose_transport(config, 1, even).reason, "lamport is off");
}

TEST(transport_choice, an_absent_payload_has_no_width) {
  auto inputs = inputs_of(64, 0);
  inputs.hidden_states_scale = {nullptr, 7, false};
  EXPECT_EQ(choose_transport({}, 1, inputs).chosen, transport::lamport);
}

TEST(transport_choice, memory_is_taken_for_what_may_come) {
  const comm_params params{.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 16, .hidden_size = 64};
  const auto bytes_with = [&](choice lamport, std::int64_t tokens) {
    one_sided_config config;
    config.lamport = lamport;
    config.lamport_max_tokens = tokens;
    return workspace_bytes(params, config, 4);
  };
  EXPECT_LT(bytes_with(choice::off, 8), bytes_with(choice::automatic, 8));
  EXPECT_EQ(bytes_with(choice::off, 8), bytes_with(choice::off, 16));
  EXPECT_LT(bytes_with(choice::on, 8), bytes_with(choice::on, 16));
  EXPECT_EQ(bytes_with(choice::on, 16), bytes_with(choice::on, 1 << 30)) << "no more than max_tokens_per_rank";
}

TEST(transport_choice, a_group_says_whether_it_has_lamport_steps) {
  test::group_options options;
  options.ep_size = 1;
  options.params = {.num_experts = 4, .top_k = 2, .max_tokens_per_rank = 8, .hidden_size = 8};
  for (const auto lamport : {choice::off, choice::automatic, choice::on}) {
    options.config.lamport = lamport;
    test::host_group group(options);
    const auto said = group.instance(0).lamport_enabled();
    EXPECT_EQ(said.available, lamport != choice::off);
    EXPECT_EQ(said.reason, lamport == choice::off ? "lamport is off" : "");
  }
}

}  // namespace
}  // namespace switchyard
