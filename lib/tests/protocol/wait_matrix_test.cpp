// SPDX-License-Identifier: Apache-2.0
// When each peer's header was first seen, in every phase and beside a fault.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "layout/round_state.hpp"
#include "support/host_group.hpp"

namespace switchyard {
namespace {

constexpr std::chrono::milliseconds late(80);
constexpr std::uint32_t surely_late_ns = 60'000'000;  // the others' entry is not exactly when the late one falls asleep

test::group_options three_ranks(choice lamport, std::chrono::milliseconds timeout) {
  test::group_options options;
  options.ep_size = 3;
  options.params = {.num_experts = 6, .top_k = 2, .max_tokens_per_rank = 70, .hidden_size = 8};
  options.config.lamport = lamport;
  options.config.lamport_max_tokens = 70;
  options.config.timeout = timeout;
  options.config.warmup_timeout = timeout;
  return options;
}

/// The words of a rank's lanes: [2, 3], by phase and peer.
std::vector<std::uint64_t> lanes_of(test::host_group& group, const test::group_options& options, int rank) {
  std::vector<std::uint64_t> words(6);
  for (const auto& region : workspace_regions(options.params, options.config, 3)) {
    if (region.name != "arrivals") continue;
    EXPECT_EQ(region.bytes, words.size() * 8);
    std::memcpy(words.data(), group.instance(rank).workspace_data() + region.offset, region.bytes);
  }
  return words;
}

class wait_matrix : public testing::TestWithParam<choice> {};

TEST_P(wait_matrix, shows_who_came_late_to_whom_and_in_which_phase) {
  const auto options = three_ranks(GetParam(), std::chrono::seconds(30));
  test::host_group group(options);
  for (int step = 0; step < 2; ++step) {
    test::on_every_rank(3, [&](int rank) {
      test::token_batch batch(rank, options.params, {{0, 3}, {5, 2}});
      if (rank == 1 && step == 1) std::this_thread::sleep_for(late);
      (void)test::enqueue_step(group, rank, batch);
      group.stream(rank).synchronize();
      ASSERT_FALSE(group.instance(rank).status());
    });
  }
  for (int rank = 0; rank < 3; ++rank) {
    const auto words = lanes_of(group, options, rank);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto epoch = i < 3 ? 3U : 4U;  // of the second step
      EXPECT_EQ(layout::tag_of(words[i]), epoch) << "rank " << rank << " lane " << i;
      const bool waited = rank != 1 && i == 1;  // for rank 1's dispatch
      EXPECT_EQ(layout::data_of(words[i]) >= surely_late_ns, waited)
          << "rank " << rank << " lane " << i << ": " << layout::data_of(words[i]);
    }
  }
}

TEST_P(wait_matrix, tells_the_late_from_the_gone_beside_a_fault) {
  const auto options = three_ranks(GetParam(), std::chrono::milliseconds(400));
  test::host_group group(options);
  test::on_every_rank(3, [&](int rank) {
    if (rank == 2) return;
    test::token_batch batch(rank, options.params, {{0, 3}, {5, 2}});
    if (rank == 1) std::this_thread::sleep_for(late);
    (void)test::enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
  });
  const auto fault = group.instance(0).status();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, fault_code::timeout);
  EXPECT_LT(fault->arrival_ns[0], surely_late_ns);
  EXPECT_GE(fault->arrival_ns[1], surely_late_ns);
  EXPECT_LT(fault->arrival_ns[1], 400'000'000U);
  EXPECT_EQ(fault->arrival_ns[2], not_arrived);
  EXPECT_EQ(fault->arrival_ns[3], not_arrived) << "there is no such rank";
}

INSTANTIATE_TEST_SUITE_P(transports, wait_matrix, testing::Values(choice::off, choice::on),
                         [](const auto& one) { return std::string(one.param == choice::on ? "lamport" : "fence"); });

}  // namespace
}  // namespace switchyard
