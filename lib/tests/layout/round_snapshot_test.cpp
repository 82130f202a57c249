// SPDX-License-Identifier: Apache-2.0
// What a snapshot of the rounds says of phases that run, on workspaces of the host fabric.
#include "layout/round_snapshot.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <bit>
#include <chrono>
#include <thread>

#include "support/masked_group.hpp"

namespace switchyard::layout {
namespace {

using namespace std::chrono_literals;

/// Word by word, as somebody who looks from outside while blocks run.
template <class Value>
void copy_words(Value& to, const std::byte* from) {
  static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
  std::array<std::uint32_t, sizeof(Value) / sizeof(std::uint32_t)> words{};
  auto* source = reinterpret_cast<std::uint32_t*>(const_cast<std::byte*>(from));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::atomic_ref(source[i]).load();
  to = std::bit_cast<Value>(words);
}

round_snapshot look(one_sided_all_to_all& instance, const test::group_options& options) {
  round_snapshot seen{};
  for (const auto& region : workspace_regions(options.params, options.config, options.ep_size)) {
    const auto* at = instance.workspace_data() + region.offset;
    if (region.name == "round_state") copy_words(seen.round, at);
    if (region.name == "lamport_blocks") copy_words(seen.blocks, at);
  }
  return seen;
}

class round_snapshot_of : public testing::TestWithParam<std::tuple<choice, int>> {};

TEST_P(round_snapshot_of, a_phase_that_runs_is_not_quiet_and_one_that_is_over_is) {
  const auto [lamport, workers] = GetParam();
  auto options = test::masked_group(3, lamport);
  options.workers = workers;
  test::host_group group(options);
  const auto quiet = [&](int rank) { return is_quiet(look(group.instance(rank), options)); };
  const auto ids = test::spread_ids(3, 30);
  std::barrier both_have_looked(2);
  test::on_every_rank(3, [&](int rank) {
    EXPECT_TRUE(quiet(rank)) << "nothing has run";
    for (int step = 0; step < 3; ++step) {
      (void)test::run_masked_step(group, rank, ids);
      EXPECT_TRUE(quiet(rank));
    }
    if (rank == 1) return;
    test::token_batch batch(rank, options.params, ids);
    (void)group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank));  // which waits for rank 1
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (quiet(rank) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    for (int look = 0; look < 20; ++look) {
      EXPECT_FALSE(quiet(rank)) << "rank " << rank;
      std::this_thread::sleep_for(1ms);
    }
    both_have_looked.arrive_and_wait();
    if (rank == 0) group.instance(0).abort("enough");
    group.stream(rank).synchronize();
    EXPECT_TRUE(quiet(rank)) << "a phase that has failed";
  });
}

INSTANTIATE_TEST_SUITE_P(by, round_snapshot_of,
                         testing::Combine(testing::ValuesIn(test::both_transports), testing::Values(1, 3)),
                         [](const auto& by) {
                           return std::string(std::get<0>(by.param) == choice::off ? "fence_" : "lamport_") +
                                  std::to_string(std::get<1>(by.param));
                         });

}  // namespace
}  // namespace switchyard::layout
