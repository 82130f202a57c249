// SPDX-License-Identifier: Apache-2.0
// On the host fabric, whose memory stays: whom those that recover wait for among the ranks that they leave out.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "fabric/host/host_fabric.hpp"
#include "support/survivors.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::group_of_survivors;
using test::how;
using test::on_every_rank;
using test::spread_ids;

/// A block of `rank` stays at the door of each dispatch for as long as `stays` says, of the workspace that it is in.
test::group_options with_a_rank_that_stays(test::group_options options,
                                           std::function<bool(int rank, const protocol::workspace_handle& ws)> stays) {
  options.make_fabric = [stays = std::move(stays)](int rank) {
    auto kernels = host::production_kernels();
    kernels.dispatch = [stays, rank, dispatch = kernels.dispatch](host::host_block& block,
                                                                  const protocol::dispatch_params& params) {
      while (stays(rank, params.ws)) std::this_thread::sleep_for(1ms);
      dispatch(block, params);
    };
    return host::make_host_fabric(kernels);
  };
  return options;
}

class left_out : public testing::TestWithParam<how> {};

// Each pair has left out the other one. What one does in its own life is no matter of the other's.
TEST_P(left_out, who_has_recovered_alone_is_neither_waited_for_nor_ended) {
  std::atomic<bool> holds{false};
  std::atomic<bool> was_there{false};
  const auto stays = [&](int rank, const protocol::workspace_handle&) {
    if (rank == 3 && holds) was_there = true;
    return rank == 3 && holds;
  };
  group_of_survivors all(with_a_rank_that_stays(test::options_of_survivors(GetParam(), 4, 2s), stays));
  const auto first = all_but(4, {2, 3});
  const auto second = all_but(4, {0, 1});
  on_every_rank(4, [&](int rank) {
    all.recover(rank, rank < 2 ? first : second);
    all.expect_exact_steps(rank, rank < 2 ? first : second, 5);
  });
  holds = true;
  on_every_rank(4, [&](int rank) {
    if (rank < 2) {
      while (!was_there) std::this_thread::yield();
      for (int round = 0; round < 3; ++round) {
        EXPECT_NO_THROW(all.recover(rank, first));
        if (all.group.instance(rank).status()) break;
        all.expect_exact_steps(rank, first, 5);
      }
      holds = false;
    } else {
      all.expect_exact_steps(rank, second, 5);
    }
    EXPECT_FALSE(all.group.instance(rank).status()) << "rank " << rank;
  });
}

// Rank 2 takes all the time that there is for those who are left out; rank 3 leaves as soon as it is told.
TEST_P(left_out, one_that_stays_does_not_bring_another_into_disrepute) {
  std::atomic<bool> holds{true};
  std::array<std::atomic<bool>, 4> was_there{};
  const auto stays = [&](int rank, const protocol::workspace_handle& ws) {
    if (rank < 2) return false;
    was_there[static_cast<std::size_t>(rank)] = true;
    return holds && !(rank == 3 && std::atomic_ref(ws.round().poison).load() != 0);
  };
  group_of_survivors all(with_a_rank_that_stays(test::options_of_survivors(GetParam(), 4, 1s), stays));
  test::token_batch batch_of_2(2, all.group.instance(2).params(), spread_ids(4, 20));
  test::token_batch batch_of_3(3, all.group.instance(3).params(), spread_ids(4, 20));
  (void)all.group.instance(2).dispatch(batch_of_2.inputs(), {}, all.group.stream(2));
  (void)all.group.instance(3).dispatch(batch_of_3.inputs(), {}, all.group.stream(3));
  while (!was_there[2] || !was_there[3]) std::this_thread::yield();
  const auto active = all_but(4, {2, 3});
  on_every_rank(2, [&](int rank) {
    try {
      all.recover(rank, active);
      ADD_FAILURE() << "rank " << rank << " has recovered";
    } catch (const peer_fault& e) {
      EXPECT_NE(std::string(e.what()).find("rank(s) 2, which are left out"), std::string::npos) << e.what();
      EXPECT_EQ(e.record().missing, all_but(4, {0, 1, 3}));
    }
  });
  holds = false;
  on_every_rank(2, [&](int rank) {
    all.recover(rank, active);
    all.expect_exact_steps(rank, active, 5);
  });
}

INSTANTIATE_TEST_SUITE_P(by, left_out,
                         testing::Values(how{choice::off, 1}, how{choice::off, 3}, how{choice::on, 1},
                                         how{choice::on, 3}),
                         [](const auto& by) { return by.param.name(); });

}  // namespace
}  // namespace switchyard
