// SPDX-License-Identifier: Apache-2.0
// Ranks that put new memory behind each other's slices, all of them or some, on a driver without a device.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fabric/cuda/connect_slices.hpp"
#include "mock_driver.hpp"
#include "support/masked_group.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

using test::all_but;
using test::mock_driver;
using test::on_every_rank;

constexpr auto remap_patience = std::chrono::seconds(20);
constexpr int num_ranks = 3;

/// Three ranks, each on a device of its own, that have connected.
class remap_slices_test : public testing::Test {
 protected:
  remap_slices_test() {
    on_every_rank(num_ranks, [&](int rank) {
      auto& view = views_[static_cast<std::size_t>(rank)];
      view = std::make_unique<symmetric_memory>(api_, rank, rank, num_ranks, 100);
      connect_slices(
          *backends_[static_cast<std::size_t>(rank)], api_, *view, {}, [] {}, remap_patience);
    });
  }

  [[nodiscard]] CUmemGenericAllocationHandle seen(int by, int owner) const {
    return driver_.mapped_at(views_[static_cast<std::size_t>(by)]->slice(owner));
  }
  /// Of the active ranks together; each `initialise` sees the new memory of its own rank.
  void remap(const rank_set& active, const std::function<void(int)>& after = {}) {
    std::atomic<int> initialised{0};
    std::vector<int> ranks;
    for (int rank = 0; rank < num_ranks; ++rank) {
      if (contains(active, rank)) ranks.push_back(rank);
    }
    on_every_rank(num_ranks, [&](int rank) {
      if (!contains(active, rank)) return;
      const auto before = seen(rank, rank);
      const auto part = backends_[static_cast<std::size_t>(rank)]->part_of(active, remap_patience);
      const rank_meeting meeting("recover", *part, ranks, remap_patience);
      try {
        const auto settle = [&] { EXPECT_EQ(seen(rank, rank), before); };
        remap_slices(meeting, api_, *views_[static_cast<std::size_t>(rank)], rank, passing::as_it_is, settle, [&] {
          EXPECT_NE(seen(rank, rank), before);
          ++initialised;
        });
        EXPECT_EQ(initialised, static_cast<int>(ranks.size())) << "returned before every slice was initialised";
      } catch (const error& e) {
        if (!after) throw;
        EXPECT_NE(std::string(e.what()).find("recover: rank "), std::string::npos) << e.what();
        after(rank);
      }
    });
  }
  void expect_all_see_the_same() {
    for (int owner = 0; owner < num_ranks; ++owner) {
      EXPECT_NE(seen(owner, owner), 0U) << owner;
      for (int by = 0; by < num_ranks; ++by) EXPECT_EQ(seen(by, owner), seen(owner, owner)) << by << " of " << owner;
    }
    EXPECT_EQ(driver_.live_allocations(), num_ranks);
    EXPECT_EQ(driver_.open_descriptors(), 0);
  }

  mock_driver driver_;
  driver_api api_ = mock_driver::api();
  std::vector<std::shared_ptr<comm_backend>> backends_ = make_in_process_backends(num_ranks);
  std::vector<std::unique_ptr<symmetric_memory>> views_{num_ranks};
};

TEST_F(remap_slices_test, new_memory_is_behind_the_same_addresses_and_the_old_is_gone) {
  expect_all_see_the_same();
  for (int round = 0; round < 50; ++round) {
    const auto before = seen(0, 1);
    auto* const address = views_[0]->slice(1);
    remap(all_but(num_ranks, {}));
    EXPECT_EQ(views_[0]->slice(1), address);
    EXPECT_NE(seen(0, 1), before);
    expect_all_see_the_same();
  }
  views_.clear();
  EXPECT_TRUE(driver_.nothing_left());
}

// Its kernels may still store through what it has mapped. Nobody else has that memory any more, so it is the price of
// one generation, however often the others recover.
TEST_F(remap_slices_test, who_is_left_out_keeps_the_old_memory_and_no_more_of_it) {
  const auto old_of_0 = seen(2, 0);
  const auto old_of_1 = seen(2, 1);
  const auto own = seen(2, 2);
  for (int round = 0; round < 20; ++round) {
    remap(all_but(num_ranks, {2}));
    EXPECT_EQ(seen(2, 0), old_of_0);
    EXPECT_EQ(seen(2, 1), old_of_1);
    EXPECT_NE(seen(0, 0), old_of_0);
    EXPECT_EQ(seen(1, 0), seen(0, 0));
    EXPECT_EQ(seen(0, 1), seen(1, 1));
    EXPECT_EQ(seen(0, 2), own) << "what nobody replaces stays";
    EXPECT_EQ(driver_.live_allocations(), num_ranks + 2);
    EXPECT_EQ(driver_.open_descriptors(), 0);
  }
  remap(all_but(num_ranks, {}));
  expect_all_see_the_same();
  views_.clear();
  EXPECT_TRUE(driver_.nothing_left());
}

TEST_F(remap_slices_test, a_rank_that_does_not_come_leaves_the_others_what_they_had) {
  const auto before = seen(0, 0);
  on_every_rank(num_ranks, [&](int rank) {
    if (rank == 1) return;
    const rank_meeting meeting("recover", *backends_[static_cast<std::size_t>(rank)], std::chrono::milliseconds(100));
    EXPECT_THROW(remap_slices(
                     meeting, api_, *views_[static_cast<std::size_t>(rank)], rank, passing::as_it_is, [] {}, [] {}),
                 peer_fault);
  });
  EXPECT_EQ(seen(2, 0), before);
  expect_all_see_the_same();
}

/// One failure of each operation, wherever it comes.
class remap_failure : public remap_slices_test,
                      public testing::WithParamInterface<std::tuple<const char*, int, bool>> {};

TEST_P(remap_failure, is_everybodys_and_the_next_attempt_mends_it) {
  const auto& [operation, after, lasts] = GetParam();
  const std::string name = operation;
  const bool changes_nothing = name == "create" || name == "export" || name == "import";
  std::vector<CUmemGenericAllocationHandle> before;
  for (int by = 0; by < num_ranks; ++by) {
    for (int owner = 0; owner < num_ranks; ++owner) before.push_back(seen(by, owner));
  }
  driver_.fail_at = name;
  driver_.fail_after = driver_.calls_of(name) + after;
  driver_.failures_left = lasts ? 1 << 30 : 1;
  driver_.failure = name == "create" ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  std::atomic<int> failed{0};
  remap(all_but(num_ranks, {}), [&](int) { ++failed; });
  EXPECT_EQ(failed, num_ranks);
  for (int by = 0; by < num_ranks; ++by) {
    EXPECT_EQ(views_[static_cast<std::size_t>(by)]->is_backed(), seen(by, by) != 0);
    if (!lasts) {
      EXPECT_NE(seen(by, by), 0U) << "rank " << by << " has nothing behind its own addresses";
    }
    for (int owner = 0; owner < num_ranks && changes_nothing; ++owner) {
      EXPECT_EQ(seen(by, owner), before[static_cast<std::size_t>(by * num_ranks + owner)]) << by << " of " << owner;
    }
  }
  if (changes_nothing) expect_all_see_the_same();
  EXPECT_EQ(driver_.open_descriptors(), 0);
  driver_.fail_at.clear();
  remap(all_but(num_ranks, {}));
  expect_all_see_the_same();
  views_.clear();
  EXPECT_TRUE(driver_.nothing_left());
}

INSTANTIATE_TEST_SUITE_P(each_operation, remap_failure,
                         testing::Combine(testing::Values("create", "export", "import", "unmap", "map", "access"),
                                          testing::Values(0, 1, 2), testing::Bool()),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param)) + "_" + std::to_string(std::get<1>(of.param)) +
                                  (std::get<2>(of.param) ? "_for_good" : "");
                         });

}  // namespace
}  // namespace switchyard::cuda
