// SPDX-License-Identifier: Apache-2.0
// Steps over NVLink: two GPUs, one or several ranks on each.
#include <gtest/gtest.h>

#include "cuda_group.hpp"

namespace switchyard {
namespace {

using test::cuda_group;
using test::expect_as_on_host;
using test::on_every_rank;
using test::small_exchange;

class two_gpus : public test::gpu_test<2> {};

TEST_F(two_gpus, every_byte_is_the_host_fabrics) {
  for (const int ep_size : {2, 4, 7}) expect_as_on_host(small_exchange(ep_size), 2, 8);
}

TEST_F(two_gpus, rows_of_a_model) {
  auto shape = small_exchange(2);
  shape.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 600, .hidden_size = 7168};
  shape.config.extra_payload_bytes_per_token = 0;
  shape.row_bytes = {14336, 32, 32, 0, 0};
  shape.combine_hidden_size = 7168;
  for (const std::int64_t tokens : {1, 16, 600}) {
    shape.tokens_per_rank = tokens;
    shape.zero_copy = tokens != 16;
    expect_as_on_host(shape, 2, 3);
  }
}

TEST_F(two_gpus, launches_that_overlap_or_do_not_change_nothing) {
  for (const auto pdl : {choice::off, choice::on}) {
    auto shape = small_exchange(2);
    shape.config.enable_pdl = pdl;
    expect_as_on_host(shape, 2, 4);
    expect_outputs_without_a_pause(shape, 2, 20);
  }
}

TEST_F(two_gpus, many_steps_without_a_pause) {
  expect_outputs_without_a_pause(small_exchange(2), 2, 40);
  expect_outputs_without_a_pause(small_exchange(6), 2, 20);
}

TEST_F(two_gpus, an_absent_rank_is_named_and_both_gpus_live_on) {
  auto shape = small_exchange(2);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(1);
  {
    cuda_group group(shape, 2);
    group.make_current(0);
    group.step(0).upload(make_inputs(shape, 0, 0), group.stream(0));
    group.step(0).dispatch(group.instance(0), group.stream(0));
    group.synchronize(0);
    const auto fault = group.instance(0).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->rank, 1);
    EXPECT_TRUE(contains(fault->missing, 1));
    EXPECT_FALSE(contains(fault->missing, 0));
  }
  expect_as_on_host(small_exchange(2), 2, 2);
}

}  // namespace
}  // namespace switchyard
