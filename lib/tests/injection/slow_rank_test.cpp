// SPDX-License-Identifier: Apache-2.0
// Faults that meet ranks in the middle of something: orders of events that only delays bring about.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "injection/injecting_host_fabric.hpp"
#include "support/host_group.hpp"

namespace switchyard::injection {
namespace {

using test::host_group;
using test::on_every_rank;
using test::token_batch;

test::group_options slow_group(const mutation& plan) {
  test::group_options options;
  options.ep_size = 2;
  options.params = {.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 70, .hidden_size = 8};
  options.config.timeout = std::chrono::seconds(30);
  options.workers = 3;
  const auto shared = std::make_shared<injector>(plan);
  options.make_fabric = [shared](int) { return make_injecting_host_fabric(shared); };
  return options;
}

const std::vector<std::vector<std::int32_t>> some_ids{{0, 7}, {3, 4}, {5, 2}};

// A rank that is done with its combine may abort while a peer still sums: the peer has all rows in its own memory, so
// it has its result, and hears of the abort in its next phase.
TEST(slow_rank, a_combine_that_has_all_its_rows_is_a_result_whatever_a_peer_does) {
  auto options = slow_group({.op = operation::sum_rows, .what = effect::delay, .amount = 300'000, .rank = 0});
  options.workers = 1;  // a second block that entered late would refuse to, and rightly
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params, some_ids);
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    const auto received = instance.dispatch(batch.inputs(), {}, stream);
    instance.combine(test::identity_experts(instance, received, stream), batch.output(), stream);
    stream.synchronize();
    if (rank == 1) {
      EXPECT_FALSE(instance.status());
      instance.abort("done with it");
      return;
    }
    EXPECT_FALSE(instance.status());
    for (int i = 0; i < 24; ++i) ASSERT_NE(batch.output_row(0)[i], 0x7FFF) << "element " << i;
    (void)instance.dispatch(batch.inputs(), {}, stream);
    stream.synchronize();
    ASSERT_TRUE(instance.status());
    EXPECT_EQ(instance.status()->code, fault_code::aborted);
    EXPECT_EQ(instance.status()->origin, 1);
    EXPECT_EQ(instance.status()->phase, phase::dispatch);
  });
}

// The slower half of a header comes after a notice of the same disagreement: still told with both values.
TEST(slow_rank, a_mismatch_is_spelled_out_although_the_notice_was_faster) {
  const auto plan = layout::make_layout({.ep_size = 2, .top_k = 2, .max_tokens = 70});
  const auto word = static_cast<std::uint64_t>(protocol::header_word::runtime_max_tokens_per_rank);
  const auto offset = plan.header_offset(phase::dispatch, 0, 1) + 8 * word - plan.offset_of(layout::region::headers);
  auto options = slow_group({.op = operation::post,
                             .what = effect::delay,
                             .amount = 20'000,
                             .region = layout::region::headers,
                             .offset = offset,
                             .rank = 1,
                             .peer = 0});
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params, some_ids);
    const dispatch_options chosen{.runtime_max_tokens_per_rank = rank == 0 ? 5 : 70};
    (void)group.instance(rank).dispatch(batch.inputs(), chosen, group.stream(rank));
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::step_mismatch) << "rank " << rank;
    EXPECT_EQ(fault->field, step_field::runtime_max_tokens_per_rank) << "rank " << rank;
    EXPECT_EQ(fault->expected, rank == 0 ? 5U : 70U);
    EXPECT_EQ(fault->actual, rank == 0 ? 70U : 5U);
  });
}

TEST(slow_rank, abort_frees_this_ranks_own_wait) {
  auto options = slow_group({.op = operation::put, .what = effect::drop, .at_most = 0});
  host_group group(options);
  token_batch batch(0, options.params, some_ids);
  auto& instance = group.instance(0);
  const auto start = std::chrono::steady_clock::now();
  (void)instance.dispatch(batch.inputs(), {}, group.stream(0));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  instance.abort("nobody comes");
  group.stream(0).synchronize();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ASSERT_TRUE(instance.status());
  EXPECT_EQ(instance.status()->code, fault_code::aborted);
  EXPECT_EQ(instance.status()->epoch, 1U);
}

TEST(slow_rank, abort_and_status_may_meet_destroy) {
  for (int round = 0; round < 50; ++round) {
    auto options = slow_group({.op = operation::put, .what = effect::drop, .at_most = 0});
    host_group group(options);
    std::thread watchdog([&] {
      try {
        for (int i = 0; i < 20; ++i) (void)group.instance(0).status();
        group.instance(0).abort("watchdog");
      } catch (const state_error&) {  // destroyed already: that is an answer
      }
    });
    group.destroy(0);
    watchdog.join();
  }
}

}  // namespace
}  // namespace switchyard::injection
