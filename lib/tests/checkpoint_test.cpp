// SPDX-License-Identifier: Apache-2.0
// A workspace gives its memory back and gets it again at the same addresses; what was captured before replays exactly.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "injection/capturing_host_fabric.hpp"
#include "layout/rank_mask.hpp"
#include "support/checkpointed.hpp"
#include "support/masked_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::layer_config;
using test::layer_params;
using test::resident_pages;
using test::state_error_of;

/// Two ranks with as many layers as asked for, and steps of them.
struct checkpointed_group : test::layered_group {
  explicit checkpointed_group(int ep_size = 2, std::size_t num_layers = 1) : layered_group(ep_size) {
    for (std::size_t layer = 0; layer < num_layers; ++layer) add_on_every_rank(layer_params(), layer_config());
  }
  void step(int rank, std::uint32_t number, std::size_t which = 0) {
    const auto tokens = number % 2 == 0 ? 8 : 40;  // by lamport, and by fence
    test::layer_exchange(layer(rank, which), stream(rank), {number, tokens, 128}).run();
  }
};

TEST(checkpoint, gives_memory_back_and_takes_it_again_at_the_same_addresses) {
  checkpointed_group group;
  auto fresh = make_in_process_backends(2);
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    group.step(rank, 0);
    group.step(rank, 1);
    const auto* const data = instance.workspace_data();
    const auto resident = resident_pages(instance, layer_config());
    EXPECT_GT(resident, 4U);
    instance.checkpoint_prepare();
    EXPECT_EQ(resident_pages(instance, layer_config()), 0U);
    EXPECT_FALSE(instance.status());
    instance.checkpoint_restore(fresh[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(instance.workspace_data(), data);
    for (std::uint32_t number = 2; number < 12; ++number) group.step(rank, number);
    EXPECT_GE(resident_pages(instance, layer_config()), resident);
  });
}

TEST(checkpoint, lets_go_of_the_backend_and_meets_by_the_new_one_the_next_time) {
  checkpointed_group group;
  std::vector<std::weak_ptr<comm_backend>> first{group.backends[0], group.backends[1]};
  group.backends.clear();
  for (int round = 0; round < 3; ++round) {
    auto fresh = make_in_process_backends(2);
    test::on_every_rank(2, [&](int rank) {
      const auto index = static_cast<std::size_t>(rank);
      group.step(rank, 0);
      group.layer(rank, 0).checkpoint_prepare();
      EXPECT_TRUE(first[index].expired()) << "round " << round;
      first[index] = fresh[index];
      group.layer(rank, 0).checkpoint_restore(std::move(fresh[index]));
      group.step(rank, 1);
    });
  }
}

TEST(checkpoint, does_nothing_when_it_is_asked_for_again) {
  checkpointed_group group;
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    const auto& backend = group.backends[static_cast<std::size_t>(rank)];
    instance.checkpoint_restore(backend);
    group.step(rank, 0);
    instance.checkpoint_prepare();
    // Only one of them, and there is no meeting: a collective call would wait for the other.
    if (rank == 0) instance.checkpoint_prepare();
    instance.checkpoint_restore(backend);
    if (rank == 1) instance.checkpoint_restore(backend);
    group.step(rank, 1);
  });
}

TEST(checkpoint, refuses_calls_while_there_is_no_memory) {
  checkpointed_group group(2, 2);
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    auto& backend = group.backends[static_cast<std::size_t>(rank)];
    test::layer_exchange exchange(instance, group.stream(rank), {0, 8, 128});
    group.layer(rank, 1).checkpoint_prepare();
    const std::string why = ": the workspace has no memory after checkpoint_prepare(), checkpoint_restore() first";
    EXPECT_EQ(state_error_of([&] { exchange.dispatch(); }),
              "dispatch" + why + "; peers wait for this rank until abort() or their deadline");
    EXPECT_EQ(state_error_of([&] { instance.combine_input_buffer(dtype::bf16); }), "combine_input_buffer" + why);
    EXPECT_EQ(state_error_of([&] { exchange.combine(); }), "combine_input_buffer" + why);
    EXPECT_EQ(state_error_of([&] { instance.set_active_ranks(layout::all_ranks(2), group.stream(rank)); }),
              "set_active_ranks" + why);
    EXPECT_EQ(state_error_of([&] { instance.abort("a test"); }), "abort" + why);
    EXPECT_EQ(state_error_of([&] { instance.recover(*backend, layout::all_ranks(2)); }), "recover" + why);
    EXPECT_NE(state_error_of([&] { group.add(rank, layer_params(), layer_config()); }).find(why), std::string::npos);
    EXPECT_FALSE(instance.status());
    instance.checkpoint_restore(backend);
    group.step(rank, 1, 0);
    group.step(rank, 2, 1);
    group.add(rank, layer_params(), layer_config());
    group.step(rank, 3, 2);
  });
}

TEST(checkpoint, is_found_by_the_group_that_restored_it) {
  checkpointed_group group;
  auto fresh = make_in_process_backends(2);
  test::on_every_rank(2, [&](int rank) {
    group.layer(rank, 0).checkpoint_prepare();
    group.layer(rank, 0).checkpoint_restore(fresh[static_cast<std::size_t>(rank)]);
    group.backends[static_cast<std::size_t>(rank)] = fresh[static_cast<std::size_t>(rank)];
    group.add(rank, layer_params(), layer_config());
    EXPECT_EQ(group.layer(rank, 1).workspace_data(), group.layer(rank, 0).workspace_data());
    group.step(rank, 0, 1);
  });
}

TEST(checkpoint, refuses_another_rank_or_size_and_stays_prepared) {
  checkpointed_group group;
  const auto three = make_in_process_backends(3);
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    instance.checkpoint_prepare();
    EXPECT_THROW(instance.checkpoint_restore(nullptr), invalid_argument);
    EXPECT_THROW(instance.checkpoint_restore(group.backends[static_cast<std::size_t>(1 - rank)]), invalid_argument);
    EXPECT_THROW(instance.checkpoint_restore(three[static_cast<std::size_t>(rank)]), invalid_argument);
    EXPECT_NE(state_error_of([&] { instance.abort("a test"); }).find("has no memory"), std::string::npos);
    instance.checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]);
    group.step(rank, 0);
  });
}

TEST(checkpoint, waits_for_the_end_of_a_step_on_every_rank) {
  checkpointed_group group;
  test::on_every_rank(2, [&](int rank) {
    test::layer_exchange exchange(group.layer(rank, 0), group.stream(rank), {0, 8, 128});
    exchange.dispatch();
    EXPECT_EQ(state_error_of([&] { group.layer(rank, 0).checkpoint_prepare(); }),
              "checkpoint_prepare: rank 0: a step is in flight, its combine is due; "
              "rank 1: a step is in flight, its combine is due");
    exchange.combine();
    group.stream(rank).synchronize();
    exchange.expect_exact();
    group.layer(rank, 0).checkpoint_prepare();
    group.layer(rank, 0).checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]);
    group.step(rank, 1);
  });
}

/// A rank that has a step open tells so at the meeting; until the others are there the step goes on, and nothing else
/// begins.
TEST(checkpoint, lets_an_open_step_end_while_it_waits_to_refuse) {
  checkpointed_group group(2, 2);
  test::on_every_rank(2, [&](int rank) {
    const auto& backend = group.backends[static_cast<std::size_t>(rank)];
    test::layer_exchange exchange(group.layer(rank, 0), group.stream(rank), {0, 8, 128});
    exchange.dispatch();
    std::string refused;
    std::thread other;
    if (rank == 0) {
      other = std::thread([&] { refused = state_error_of([&] { group.layer(0, 1).checkpoint_prepare(); }); });
      std::string begun;  // once the other thread is inside, no other change is let in
      for (int attempt = 0; attempt < 1000 && begun.find("under way") == std::string::npos; ++attempt) {
        std::this_thread::sleep_for(5ms);
        begun = state_error_of([&] { group.layer(0, 0).checkpoint_restore(backend); });
      }
      EXPECT_EQ(begun, "checkpoint_restore: checkpoint_prepare() is under way");
      EXPECT_EQ(state_error_of([&] { group.layer(0, 0).recover(*backend, layout::all_ranks(2)); }),
                "recover: checkpoint_prepare() is under way");
    }
    exchange.combine();
    group.stream(rank).synchronize();
    exchange.expect_exact();
    if (rank == 1) refused = state_error_of([&] { group.layer(1, 1).checkpoint_prepare(); });
    if (other.joinable()) other.join();
    EXPECT_EQ(refused, "checkpoint_prepare: rank 0: a step is in flight, its combine is due");
  });
}

TEST(checkpoint, is_refused_on_all_ranks_where_one_is_poisoned) {
  checkpointed_group group;
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    if (rank == 0) instance.abort("a test");
    if (rank == 0) {
      EXPECT_THROW(instance.checkpoint_prepare(), peer_fault);
    } else {
      EXPECT_NE(state_error_of([&] { instance.checkpoint_prepare(); })
                    .find("checkpoint_prepare: rank 0: "
                          "the workspace is poisoned"),
                std::string::npos);
    }
    instance.recover(*group.backends[static_cast<std::size_t>(rank)], layout::all_ranks(2));
    group.step(rank, 0);
    instance.checkpoint_prepare();
    instance.checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]);
    group.step(rank, 1);
  });
}

TEST(checkpoint, names_a_rank_that_does_not_come_and_may_be_tried_again) {
  test::layered_group group(3);
  auto params = layer_params();
  params.num_experts = 9;
  group.add_on_every_rank(params, layer_config(300ms));
  test::on_every_rank(2, [&](int rank) {
    try {
      group.layer(rank, 0).checkpoint_prepare();
      ADD_FAILURE() << "prepared without rank 2";
    } catch (const peer_fault& e) {
      EXPECT_EQ(e.record().missing, test::all_but(3, {0, 1}));
    }
  });
  test::on_every_rank(3, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    test::layer_exchange(instance, group.stream(rank), {0, 8, 128}).run();
    instance.checkpoint_prepare();
  });
  test::on_every_rank(2, [&](int rank) {
    EXPECT_THROW(group.layer(rank, 0).checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]), peer_fault);
  });
  test::on_every_rank(3, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    instance.checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]);
    test::layer_exchange(instance, group.stream(rank), {1, 40, 128}).run();
  });
}

/// B29: what was captured before replays exactly after any number of checkpoints.
TEST(checkpoint, leaves_captured_steps_exact) {
  constexpr std::uint32_t rounds = 20;
  test::layered_group group(2);
  std::vector<std::shared_ptr<injection::launch_recorder>> recorders;
  for (int rank = 0; rank < 2; ++rank) recorders.push_back(std::make_shared<injection::launch_recorder>());
  test::on_every_rank(2, [&](int rank) {
    auto& recorder = *recorders[static_cast<std::size_t>(rank)];
    group.add(rank, layer_params(), layer_config(),
              std::make_shared<injection::capturing_host_fabric>(recorders[static_cast<std::size_t>(rank)]));
    auto& instance = group.layer(rank, 0);
    std::vector<injection::kept_launches> graphs;
    std::vector<std::unique_ptr<test::layer_exchange>> steps;
    for (const auto tokens : {8, 40}) {
      steps.push_back(
          std::make_unique<test::layer_exchange>(instance, group.stream(rank), test::layer_step{7, tokens, 128}));
      recorder.begin();
      steps.back()->dispatch();
      // Experts are the caller's, and a part of what is replayed.
      steps.back()->combine_behind_experts([&](const std::function<void()>& experts) {
        recorder.give([&stream = group.stream(rank), experts] { stream.enqueue(experts); });
      });
      graphs.push_back(recorder.end());
    }
    const auto replay_all = [&] {
      for (std::size_t step = 0; step < steps.size(); ++step) {
        steps[step]->forget_output();
        injection::replay(graphs[step]);
        group.stream(rank).synchronize();
        steps[step]->expect_exact();
      }
    };
    replay_all();
    for (std::uint32_t round = 0; round < rounds; ++round) {
      instance.checkpoint_prepare();
      instance.checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]);
      for (int again = 0; again < 5; ++again) replay_all();
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(checkpoint, keeps_the_mask_of_active_ranks) {
  for (const auto lamport : test::both_transports) {
    const auto options = test::masked_group(3, lamport);
    test::host_group group(options);
    const auto fresh = make_in_process_backends(3);
    const auto without_1 = test::all_but(3, {1});
    test::on_every_rank(3, [&](int rank) {
      auto& instance = group.instance(rank);
      if (rank != 1) instance.set_active_ranks(without_1, group.stream(rank));
      const auto ids = test::spread_ids(3, 5);
      const auto before = rank == 1 ? test::masked_step{} : test::run_masked_step(group, rank, ids);
      instance.checkpoint_prepare();
      instance.checkpoint_restore(fresh[static_cast<std::size_t>(rank)]);
      if (rank == 1) return;
      const auto after = test::run_masked_step(group, rank, ids);
      EXPECT_GT(before.dropped, 0);
      EXPECT_EQ(after.dropped, before.dropped);
      EXPECT_EQ(after.counts, before.counts);
      EXPECT_EQ(after.ids, before.ids);
      EXPECT_EQ(after.output, before.output);
    });
  }
}

/// One rank, so that threads need not agree with peers on an order: layers of two threads, and a third that takes the
/// memory away whenever it may.
TEST(checkpoint, keeps_out_of_calls_of_other_threads) {
  test::layered_group group(1);
  for (int layer = 0; layer < 2; ++layer) group.add(0, layer_params(), layer_config());
  const auto backend = group.backends[0];
  std::atomic<bool> over{false};
  std::atomic<int> steps{0};
  std::thread runs([&] {
    for (std::uint32_t number = 0; !over; ++number) {
      test::layer_exchange step(group.layer(0, 0), group.stream(0), {number, 8, 128});
      try {
        step.dispatch();
        step.combine();
        group.stream(0).synchronize();
        if (!group.layer(0, 0).status()) ++steps;
      } catch (const state_error&) {  // between prepare and restore, or recover
      } catch (const peer_fault&) {   // aborted
      }
      group.stream(0).synchronize();  // what was enqueued has the step's inputs
    }
  });
  std::thread aborts([&] {
    while (!over) {
      try {
        group.layer(0, 1).abort("a test");
      } catch (const state_error&) {  // NOLINT(bugprone-empty-catch): there is no memory just now
      }
      (void)group.layer(0, 0).status();
      std::this_thread::sleep_for(20ms);
    }
  });
  int checkpoints = 0;
  const auto end = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < end) {
    try {
      group.layer(0, 1).checkpoint_prepare();
      ++checkpoints;
      group.layer(0, 1).checkpoint_restore(backend);
    } catch (const state_error&) {  // within a step of the other thread
    } catch (const peer_fault&) {
      group.layer(0, 1).recover(*backend, layout::all_ranks(1));
    }
  }
  over = true;
  runs.join();
  aborts.join();
  EXPECT_GT(checkpoints, 0);
  EXPECT_GT(steps, 0);
}

TEST(checkpoint, may_come_at_any_time_between_steps_and_recoveries) {
  constexpr int ranks = 3;
  for (const auto seed : {1U, 2U, 3U, 4U}) {
    test::layered_group group(ranks, static_cast<int>(1 + 2 * (seed % 2)));
    auto params = layer_params();
    params.num_experts = 9;
    for (int layer = 0; layer < 3; ++layer) group.add_on_every_rank(params, layer_config());
    test::on_every_rank(ranks, [&](int rank) {
      std::mt19937 random(seed);  // the same on every rank
      const auto backend = group.backends[static_cast<std::size_t>(rank)];
      for (std::uint32_t number = 0; number < 150; ++number) {
        auto& layer = group.layer(rank, random() % 3);
        const auto event = random() % 8;
        if (event == 0) {
          layer.checkpoint_prepare();
          group.layer(rank, random() % 3).checkpoint_restore(backend);
        } else if (event == 1) {
          backend->barrier(20s);  // an abort also ends the step of a peer that is slower
          if (rank == static_cast<int>(random() % ranks)) layer.abort("a test");
          layer.recover(*backend, layout::all_ranks(ranks));
        } else {
          const auto tokens = static_cast<std::int64_t>(1 + random() % 40);
          test::layer_exchange(layer, group.stream(rank), {number, tokens, 128}).run();
        }
        if (testing::Test::HasFatalFailure()) return;
      }
    });
  }
}

}  // namespace
}  // namespace switchyard
