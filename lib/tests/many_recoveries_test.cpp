// SPDX-License-Identifier: Apache-2.0
// Many recoveries of one group, each without other ranks.
#include <gtest/gtest.h>

#include <malloc.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "support/survivors.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::group_of_survivors;
using test::how;
using test::on_every_rank;
using test::spread_ids;

class many_recoveries : public testing::TestWithParam<how> {};

// Every subset of the ranks, one after another: who leaves now and then still launches what nobody waits for any more.
TEST_P(many_recoveries, of_drawn_subsets_are_exact) {
  constexpr int ranks = 4;
  constexpr int rounds = 250;
  auto options = test::options_of_survivors(GetParam(), ranks, 20s);
  options.config.timeout = 10ms;  // of the step that fails; the one before has the warm-up deadline
  group_of_survivors all(options);
  on_every_rank(ranks, [&](int rank) {
    std::mt19937 random(11);                                  // the same sequence on every rank
    std::vector<std::unique_ptr<test::token_batch>> batches;  // of launches that may not have ended
    auto present = all_but(ranks, {});
    int steps = 0;  // since the last recovery
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      const rank_set active{1 + random() % ((1U << ranks) - 1)};
      const bool launches_once_more = random() % 2 == 0;
      const bool waits_for_records = random() % 2 == 0;
      const bool fails = steps > 0 && (present[0] & ~active[0]) != 0;
      const bool comes = contains(active, rank);
      if (contains(present, rank) && (comes ? fails : launches_once_more)) {
        batches.push_back(std::make_unique<test::token_batch>(rank, options.params, spread_ids(ranks, 20)));
        try {
          (void)test::enqueue_step(all.group, rank, *batches.back());
        } catch (const peer_fault&) {  // it has been told already
        }
        if (comes && waits_for_records) all.group.stream(rank).synchronize();
      }
      present = active;
      steps = static_cast<int>(random() % 2);
      if (!comes) continue;
      all.recover(rank, active);
      ASSERT_FALSE(all.group.instance(rank).status());
      all.expect_exact_steps(rank, active, steps);
    }
    all.recover(rank, all_but(ranks, {}));
    all.expect_exact_steps(rank, all_but(ranks, {}), 1);
  });
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
std::size_t heap_bytes() { return 0; }  // the allocator is another one, which keeps what is freed
#else
std::size_t heap_bytes() { return mallinfo2().uordblks; }
#endif

TEST(many_recoveries_once, leave_no_memory_and_no_descriptor) {
  group_of_survivors all(test::options_of_survivors({choice::on, 1}, 4));
  const auto active = all_but(4, {3});
  const auto recover_often = [&](int rounds) {
    on_every_rank(4, [&](int rank) {
      for (int round = 0; round < rounds; ++round) {
        if (rank != 3) all.recover(rank, active);
        if (rank != 3) all.expect_exact_steps(rank, active, 1);
        all.recover(rank, all_but(4, {}));
      }
    });
  };
  const auto descriptors = [] {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
  };
  recover_often(100);
  const auto bytes_before = heap_bytes();
  const auto open_before = descriptors();
  recover_often(300);
  // Threads keep some of what they have freed, and count it as theirs.
  EXPECT_LE(heap_bytes(), bytes_before + 16384) << "600 recoveries have left something";
  EXPECT_EQ(descriptors(), open_before);
}

INSTANTIATE_TEST_SUITE_P(by, many_recoveries,
                         testing::Values(how{choice::off, 1}, how{choice::off, 3}, how{choice::on, 1},
                                         how{choice::on, 3}),
                         [](const auto& by) { return by.param.name(); });

}  // namespace
}  // namespace switchyard
