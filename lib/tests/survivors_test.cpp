// SPDX-License-Identifier: Apache-2.0
// Groups that recover without some of their ranks: the others go on exactly, whatever those that were left out do.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "injection/capturing_host_fabric.hpp"
#include "protocol/transports.hpp"
#include "support/survivors.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::group_of_survivors;
using test::how;
using test::on_every_rank;
using test::spread_ids;

class survivors : public testing::TestWithParam<how> {
 protected:
  static test::group_options options_of(int ep_size, std::chrono::milliseconds warmup = 10s) {
    return test::options_of_survivors(GetParam(), ep_size, warmup);
  }
};

TEST_P(survivors, go_on_without_a_rank_that_is_gone) {
  group_of_survivors all(options_of(4));
  const auto active = all_but(4, {2});
  on_every_rank(4, [&](int rank) {
    all.expect_exact_steps(rank, all_but(4, {}), 2);
    if (rank == 2) return;
    all.fail_a_step(rank);
    all.recover(rank, active);
    ASSERT_FALSE(all.group.instance(rank).status());
    all.expect_exact_steps(rank, active, 20);
  });
  EXPECT_EQ(all.round(0).incarnation, 2U);
  EXPECT_EQ(all.round(0).epoch, all.round(3).epoch);
}

TEST_P(survivors, are_joined_again_by_the_rank_that_slept) {
  group_of_survivors all(options_of(4));
  const auto active = all_but(4, {2});
  on_every_rank(4, [&](int rank) {
    for (std::uint32_t round = 0; round < 2; ++round) {
      if (rank != 2) {
        all.fail_a_step(rank);
        all.recover(rank, active);
        all.expect_exact_steps(rank, active, 5);
      }
      all.recover(rank, all_but(4, {}));
      EXPECT_EQ(all.round(rank).incarnation, 3 + 2 * round);
      all.expect_exact_steps(rank, all_but(4, {}), 5);
    }
  });
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(all.round(rank).epoch, all.round(0).epoch) << "rank " << rank;
}

TEST_P(survivors, get_fewer_from_recovery_to_recovery) {
  group_of_survivors all(options_of(5));
  on_every_rank(5, [&](int rank) {
    for (int gone = 0; gone <= rank && gone < 4; ++gone) {
      rank_set active{};
      for (int each = gone; each < 5; ++each) insert(active, each);
      if (gone > 0) all.recover(rank, active);
      all.expect_exact_steps(rank, active, 4);
    }
  });
}

// Its rows of the old life would find their way: the inbox of combine is strided by token and slot, not by owner.
TEST_P(survivors, are_safe_from_a_rank_that_wakes_up_in_the_middle_of_a_phase) {
  constexpr int sleeper = 1;
  auto options = options_of(3);
  std::atomic<bool> sleeps{false};
  std::atomic<bool> is_asleep{false};
  auto kernels = host::production_kernels();
  const auto combine = kernels.combine;
  kernels.combine = [&, combine](host::host_block& block, const protocol::combine_params& params) {
    if (sleeps) {
      is_asleep = true;
      std::this_thread::sleep_for(1200ms);
    }
    combine(block, params);
  };
  const auto sleepy = host::make_host_fabric(kernels);
  options.make_fabric = [&](int rank) { return rank == sleeper ? sleepy : host::make_host_fabric(); };
  group_of_survivors all(options);
  const auto active = all_but(3, {sleeper});
  std::vector<test::token_batch> batches;  // the launch of the sleeper goes on when its thread has left
  for (int rank = 0; rank < 3; ++rank) batches.emplace_back(rank, options.params, spread_ids(3, 40));
  on_every_rank(3, [&](int rank) {
    all.expect_exact_steps(rank, all_but(3, {}), 1);
    if (rank == sleeper) sleeps = true;
    (void)test::enqueue_step(all.group, rank, batches[static_cast<std::size_t>(rank)]);
    if (rank == sleeper) return;
    all.group.stream(rank).synchronize();
    ASSERT_TRUE(all.group.instance(rank).status());
    while (!is_asleep) std::this_thread::yield();
    all.recover(rank, active);
    all.expect_exact_steps(rank, active, 200);
  });
  all.group.stream(sleeper).synchronize();
  const auto told = all.group.instance(sleeper).status();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, fault_code::aborted);
  EXPECT_NE(told->rank, sleeper) << "by one of those that recovered";
  // It is not back by itself, and what it still enqueues does nothing.
  test::token_batch batch(sleeper, options.params, spread_ids(3, 40));
  EXPECT_THROW((void)all.group.instance(sleeper).dispatch(batch.inputs(), {}, all.group.stream(sleeper)), peer_fault);
  sleeps = false;
  on_every_rank(3, [&](int rank) {
    all.recover(rank, all_but(3, {}));
    all.expect_exact_steps(rank, all_but(3, {}), 5);
  });
}

TEST_P(survivors, name_a_rank_that_is_left_out_and_does_not_leave_its_launch) {
  constexpr int stuck = 2;
  auto options = options_of(3, 1s);
  std::atomic<bool> is_stuck{false};
  std::atomic<bool> was_there{false};
  auto kernels = host::production_kernels();
  const auto dispatch = kernels.dispatch;
  kernels.dispatch = [&, dispatch](host::host_block& block, const protocol::dispatch_params& params) {
    was_there = true;
    while (is_stuck) std::this_thread::sleep_for(1ms);
    dispatch(block, params);
  };
  const auto odd = host::make_host_fabric(kernels);
  options.make_fabric = [&](int rank) { return rank == stuck ? odd : host::make_host_fabric(); };
  group_of_survivors all(options);
  is_stuck = true;
  test::token_batch batch(stuck, options.params, spread_ids(3, 40));
  (void)all.group.instance(stuck).dispatch(batch.inputs(), {}, all.group.stream(stuck));
  while (!was_there) std::this_thread::yield();
  const auto active = all_but(3, {stuck});
  const auto try_it = [&](const rank_set& who, const std::string& says) {
    on_every_rank(3, [&](int rank) {
      if (!contains(who, rank)) return;
      try {
        all.recover(rank, who);
        ADD_FAILURE() << "rank " << rank << " has recovered";
      } catch (const peer_fault& e) {
        EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
        EXPECT_EQ(e.record().missing, all_but(3, {0, 1}));
      }
      EXPECT_TRUE(all.group.instance(rank).status()) << "as poisoned as before";
    });
  };
  try_it(all_but(3, {}), "the launches of rank(s) 2 did not end");
  try_it(active, "rank(s) 2, which are left out, are still in a launch");
  is_stuck = false;
  on_every_rank(3, [&](int rank) {
    if (rank == stuck) return;
    all.recover(rank, active);
    all.expect_exact_steps(rank, active, 10);
  });
}

TEST_P(survivors, name_who_does_not_come_in_their_own_time_and_then_do_without) {
  auto options = options_of(4, 400ms);
  group_of_survivors all(options);
  on_every_rank(4, [&](int rank) {
    if (rank == 3) return;
    for (int round = 0; round < 2; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      rank_set active = all_but(4, {});
      try {
        all.recover(rank, active);
        ADD_FAILURE() << "rank " << rank << " recovered without rank 3";
      } catch (const peer_fault& e) {
        EXPECT_NE(std::string(e.what()).find("rank(s) 3 did not come"), std::string::npos) << e.what();
        for (int each = 0; each < 4; ++each) {
          if (contains(e.record().missing, each)) active[0] &= ~(1ULL << each);
        }
      }
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
      ASSERT_EQ(active, all_but(4, {3}));
      all.recover(rank, active);
      all.expect_exact_steps(rank, active, 5);
    }
  });
  // Who was missed comes late, and the backend that it missed is as good as ever.
  on_every_rank(4, [&](int rank) {
    all.recover(rank, all_but(4, {}));
    all.expect_exact_steps(rank, all_but(4, {}), 5);
  });
}

// What a graph is on a GPU: launches that were given before anything failed, with their addresses and parameters.
TEST_P(survivors, replay_what_was_captured_before) {
  auto options = options_of(3);
  std::vector<std::shared_ptr<injection::launch_recorder>> recorders;
  for (int rank = 0; rank < 3; ++rank) recorders.push_back(std::make_shared<injection::launch_recorder>());
  options.make_fabric = [&](int rank) {
    return std::make_shared<injection::capturing_host_fabric>(recorders[static_cast<std::size_t>(rank)]);
  };
  group_of_survivors all(options);
  const auto ids = spread_ids(3, 33);
  on_every_rank(3, [&](int rank) {
    auto& recorder = *recorders[static_cast<std::size_t>(rank)];
    auto& instance = all.group.instance(rank);
    auto& stream = all.group.stream(rank);
    test::token_batch batch(rank, options.params, ids);
    recorder.begin();
    const auto received = instance.dispatch(batch.inputs(), {}, stream);
    // One source of a token's rows lies in memory of its own, which nobody changes: the same outputs in each replay.
    const auto buffer = instance.combine_input_buffer(dtype::bf16);
    instance.combine({buffer.data, options.params.hidden_size, dtype::bf16}, batch.output(), stream);
    const auto graph = recorder.end();
    const auto replay = [&](const rank_set& active) {
      const auto rows = 3 * static_cast<std::size_t>(received.tokens_per_rank);
      std::fill_n(buffer.data, rows * buffer.row_bytes, std::byte{0});
      auto* values = reinterpret_cast<std::uint16_t*>(buffer.data);
      for (std::size_t i = 0; i < rows * 8; ++i) values[i] = test::token_batch::bits_of(static_cast<float>(1 << rank));
      injection::replay(graph);
      stream.synchronize();
      if (instance.status()) throw peer_fault("a replay", *instance.status());
      for (std::size_t token = 0; token < ids.size(); ++token) {
        rank_set owners{};
        for (const auto id : ids[token]) insert(owners, id / 2);
        int sum = 0;
        for (int each = 0; each < 3; ++each) {
          sum += contains(owners, each) && contains(active, each) ? 1 << each : 0;
        }
        for (std::size_t h = 0; h < 8; ++h) {
          ASSERT_EQ(batch.output_row(token)[h], test::token_batch::bits_of(static_cast<float>(sum)))
              << "rank " << rank << " token " << token;
        }
      }
    };
    const auto everybody = all_but(3, {});
    const auto meet = [&](const rank_set& who) { all.expect_exact_steps(rank, who, 0); };
    replay(everybody);
    meet(everybody);
    for (int round = 0; round < 3; ++round) {
      const int away = round % 3;
      const auto active = all_but(3, {away});
      if (rank != away) {
        EXPECT_THROW(replay(everybody), peer_fault);  // one is away
        all.recover(rank, active);
        for (int step = 0; step < 5; ++step) replay(active);
        meet(active);
      }
      all.recover(rank, everybody);
      for (int step = 0; step < 5; ++step) replay(everybody);
      meet(everybody);
    }
  });
}

TEST_P(survivors, meet_by_a_backend_of_their_own_as_well_and_must_agree_on_who_they_are) {
  group_of_survivors all(options_of(3));
  const auto pair = make_in_process_backends(2);
  on_every_rank(3, [&](int rank) {
    if (rank == 2) return;
    auto& instance = all.group.instance(rank);
    auto& backend = *pair[static_cast<std::size_t>(rank)];
    try {
      instance.recover(backend, rank == 0 ? all_but(3, {1}) : all_but(3, {2}));  // the first and the second of two
      ADD_FAILURE() << "rank " << rank << " has recovered with one that is of another opinion";
    } catch (const invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("active_ranks is 0, 1 on rank"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(instance.status());
    const auto active = all_but(3, {2});
    instance.recover(backend, active);
    all.expect_exact_steps(rank, active, 5);
    EXPECT_THROW(instance.recover(*pair[1 - static_cast<std::size_t>(rank)], active), invalid_argument);
    EXPECT_FALSE(instance.status()) << "a refused call changes nothing";
  });
}

// Three places of the backend, of which the last is rank 3's; and one that is a part of the whole, and names ranks as
// that does.
TEST_P(survivors, name_by_its_rank_who_does_not_come_to_a_backend_of_their_own) {
  group_of_survivors all(options_of(4, 400ms));
  const auto active = all_but(4, {1});
  const auto three = make_in_process_backends(3);
  on_every_rank(4, [&](int rank) {
    if (rank == 1 || rank == 3) return;
    const auto part = all.backends[static_cast<std::size_t>(rank)]->part_of(active, 20s);
    for (auto* backend : {three[rank == 0 ? 0 : 1].get(), part.get()}) {
      try {
        all.group.instance(rank).recover(*backend, active);
        ADD_FAILURE() << "rank " << rank << " recovered without rank 3";
      } catch (const peer_fault& e) {
        EXPECT_NE(std::string(e.what()).find("recover: rank(s) 3 did not come"), std::string::npos) << e.what();
        EXPECT_EQ(e.record().missing, all_but(4, {0, 1, 2}));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(by, survivors,
                         testing::Values(how{choice::off, 1}, how{choice::off, 3}, how{choice::on, 1},
                                         how{choice::on, 3}),
                         [](const auto& by) { return by.param.name(); });

}  // namespace
}  // namespace switchyard
