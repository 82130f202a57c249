// SPDX-License-Identifier: Apache-2.0
// Instances of equal group and layout share a workspace and keep out of one another's steps; others lie beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "injection/capturing_host_fabric.hpp"
#include "layout/rank_mask.hpp"
#include "support/layered_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;

using test::layer_params;

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const error& e) {
    return e.what();
  }
  return {};
}

TEST(shared_workspace, is_one_for_equal_layouts_and_another_for_others) {
  test::layered_group group(2);
  const auto params = layer_params();
  group.add_on_every_rank(params, test::layer_config());
  group.add_on_every_rank(params, test::layer_config());
  auto other_experts = params;
  other_experts.num_experts = 16;  // no matter to the layout
  group.add_on_every_rank(other_experts, test::layer_config());
  group.add_on_every_rank(layer_params(41), test::layer_config());
  group.add_on_every_rank(params, test::layer_config(19s));
  auto masked = test::layer_config();
  masked.enable_rank_mask = true;
  group.add_on_every_rank(params, masked);
  for (int rank = 0; rank < 2; ++rank) {
    const auto* data = group.layer(rank, 0).workspace_data();
    EXPECT_EQ(group.layer(rank, 1).workspace_data(), data);
    EXPECT_EQ(group.layer(rank, 2).workspace_data(), data);
    for (std::size_t which = 3; which < 6; ++which) EXPECT_NE(group.layer(rank, which).workspace_data(), data) << which;
  }
  test::layered_group stranger(2);
  stranger.add_on_every_rank(params, test::layer_config());
  EXPECT_NE(stranger.layer(0, 0).workspace_data(), group.layer(0, 0).workspace_data()) << "another group";
}

/// Parts of a group have its id, and places from 0: only their members tell them apart.
TEST(shared_workspace, is_another_for_each_part_of_a_group) {
  const auto whole = make_in_process_backends(4);
  const std::array<std::array<int, 2>, 4> pairs{{{0, 1}, {2, 3}, {1, 2}, {0, 2}}};
  std::array<std::vector<std::byte*>, 4> data;
  std::vector<std::vector<std::unique_ptr<one_sided_all_to_all>>> kept(4);
  for (const auto& pair : pairs) {
    test::on_every_rank(2, [&](int place) {
      const auto rank = static_cast<std::size_t>(pair[static_cast<std::size_t>(place)]);
      rank_set members{};
      for (const int each : pair) insert(members, each);
      bootstrap boot;
      boot.rank = place;
      boot.ep_size = 2;
      boot.comm_backend = whole[rank]->part_of(members, 20s);
      kept[rank].push_back(std::make_unique<one_sided_all_to_all>(boot, layer_params(), test::layer_config()));
      data[rank].push_back(kept[rank].back()->workspace_data());
      host_stream stream(1);
      test::layer_exchange(*kept[rank].back(), stream, {7, 20, 128}).run();
    });
  }
  std::set<std::byte*> all;
  for (const auto& of_rank : data) all.insert(of_rank.begin(), of_rank.end());
  EXPECT_EQ(all.size(), 8U) << "every rank has a workspace for each pair it is in";
}

TEST(shared_workspace, serves_sixty_layers_with_different_t_and_formats) {
  constexpr int ranks = 3;
  constexpr std::size_t layers = 60;
  constexpr std::uint32_t steps = 1000;
  auto params = layer_params();
  params.num_experts = 9;
  params.dispatch_format = dispatch_format::fp8_block128;
  test::layered_group group(ranks);
  for (std::size_t layer = 0; layer < layers; ++layer) group.add_on_every_rank(params, test::layer_config());
  const auto fp8 = params.dispatch_bytes();
  test::on_every_rank(ranks, [&](int rank) {
    ASSERT_EQ(group.layer(rank, layers - 1).workspace_data(), group.layer(rank, 0).workspace_data());
    for (std::uint32_t number = 0; number < steps; ++number) {
      test::layer_step step{number, 1 + (number * 7) % 40, fp8.hidden_states, fp8.hidden_states_scale};
      if (number % 3 == 1) step = {number, step.tokens_per_rank, fp8.hidden_states / 2, 2};  // as 4-bit rows
      if (number % 3 == 2) step.scale_bytes = 0;
      test::layer_exchange(group.layer(rank, number % layers), group.stream(rank), step).run();
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

/// The same by replays: each layer's step, of a T and a format of its own, is captured once.
TEST(shared_workspace, serves_sixty_layers_by_replays_of_what_each_has_captured) {
  constexpr int ranks = 2;
  constexpr std::size_t layers = 60;
  constexpr std::size_t steps = 1000;
  auto params = layer_params();
  params.dispatch_format = dispatch_format::fp8_block128;
  const auto fp8 = params.dispatch_bytes();
  test::layered_group group(ranks);
  test::on_every_rank(ranks, [&](int rank) {
    const auto recorder = std::make_shared<injection::launch_recorder>();
    const auto capturing = std::make_shared<injection::capturing_host_fabric>(recorder);
    std::vector<std::unique_ptr<test::layer_exchange>> exchanges;
    std::vector<injection::kept_launches> graphs;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      group.add(rank, params, test::layer_config(), capturing);
      test::layer_step step{layer, 1 + (layer * 7) % 40, fp8.hidden_states, fp8.hidden_states_scale};
      if (layer % 3 == 1) step = {layer, step.tokens_per_rank, fp8.hidden_states / 2, 2};  // as 4-bit rows
      if (layer % 3 == 2) step.scale_bytes = 0;
      exchanges.push_back(std::make_unique<test::layer_exchange>(group.layer(rank, layer), group.stream(rank), step));
      recorder->begin();
      exchanges.back()->dispatch();
      exchanges.back()->combine_behind_experts([&](const std::function<void()>& experts) {
        recorder->give([&stream = group.stream(rank), experts] { stream.enqueue(experts); });
      });
      graphs.push_back(recorder->end());
      ASSERT_EQ(group.layer(rank, layer).workspace_data(), group.layer(rank, 0).workspace_data());
    }
    for (std::size_t step = 0; step < steps; ++step) {
      const auto layer = step * 7 % layers;
      exchanges[layer]->forget_output();
      injection::replay(graphs[layer]);
      group.stream(rank).synchronize();
      ASSERT_NO_FATAL_FAILURE(exchanges[layer]->expect_exact()) << "replay " << step;
    }
  });
}

TEST(shared_workspace, has_one_instance_within_a_step_at_a_time) {
  test::layered_group group(2);
  for (int layer = 0; layer < 2; ++layer) group.add_on_every_rank(layer_params(), test::layer_config());
  test::on_every_rank(2, [&](int rank) {
    auto& other = group.layer(rank, 1);
    const test::layer_step step{0, 20, 128};
    test::layer_exchange first(group.layer(rank, 0), group.stream(rank), step);
    first.dispatch();
    test::layer_exchange second(other, group.stream(rank), step);
    EXPECT_NE(
        message_of([&] { second.dispatch(); }).find("another instance that shares the workspace is within a step"),
        std::string::npos);
    EXPECT_THROW(second.combine(), state_error);
    EXPECT_THROW(other.combine_input_buffer(dtype::bf16), state_error);
    first.combine();
    second.run();  // its dispatch waits behind the first one's combine on the stream
    first.expect_exact();
  });
}

TEST(shared_workspace, names_ranks_that_run_their_layers_in_different_orders) {
  for (const auto tokens : {8, 40}) {  // by lamport, and by fence
    test::layered_group group(2);
    for (int layer = 0; layer < 3; ++layer) group.add_on_every_rank(layer_params(), test::layer_config());
    test::on_every_rank(2, [&](int rank) {
      const auto mine = rank == 0 ? 1U : 2U;
      auto& layer = group.layer(rank, mine);
      test::layer_exchange exchange(layer, group.stream(rank), {0, tokens, 128});
      exchange.dispatch();
      group.stream(rank).synchronize();
      const auto fault = layer.status();
      ASSERT_TRUE(fault) << "rank " << rank << ": rows of another layer were taken for its own";
      EXPECT_EQ(fault->code, fault_code::step_mismatch);
      EXPECT_EQ(fault->field, step_field::instance);
      EXPECT_EQ(fault->expected, mine);
      EXPECT_EQ(fault->actual, 3 - mine);
      EXPECT_TRUE(group.layer(rank, 0).status()) << "a fault is the workspace's";
    });
  }
}

/// B24: handles of two layouts on one group, one within the other's step, then at random.
TEST(shared_workspace, lets_two_layouts_take_turns_in_any_order) {
  constexpr int ranks = 4;
  test::layered_group group(ranks);
  group.add_on_every_rank(layer_params(64), test::layer_config());
  group.add_on_every_rank(layer_params(256), test::layer_config());
  test::on_every_rank(ranks, [&](int rank) {
    const auto exchange_of = [&](std::size_t layer, std::uint32_t number) {
      const auto limit = layer == 0 ? 64U : 256U;
      return std::make_unique<test::layer_exchange>(group.layer(rank, layer), group.stream(rank),
                                                    test::layer_step{number, 1 + (number * 13) % limit, 128});
    };
    for (std::uint32_t number = 0; number < 50; ++number) {
      const auto p = exchange_of(0, number);
      const auto q = exchange_of(1, number);
      p->dispatch();
      q->dispatch();
      q->combine();
      p->combine();
      group.stream(rank).synchronize();
      ASSERT_NO_FATAL_FAILURE(p->expect_exact());
      ASSERT_NO_FATAL_FAILURE(q->expect_exact());
    }
    std::mt19937 random(24);  // the same on every rank: they issue one sequence
    std::unique_ptr<test::layer_exchange> open[2];
    for (std::uint32_t number = 0; number < 1000; ++number) {
      const auto layer = random() % 2;
      if (!open[layer]) {
        (open[layer] = exchange_of(layer, number))->dispatch();
        continue;
      }
      open[layer]->combine();
      group.stream(rank).synchronize();
      ASSERT_NO_FATAL_FAILURE(open[layer]->expect_exact());
      open[layer] = nullptr;
    }
    for (const auto& left : open) {
      if (left) left->combine();
    }
    group.stream(rank).synchronize();
  });
}

/// B23: a layer with wider rows than the workspace was made for, and ranks that want more of it alone.
TEST(shared_workspace, does_not_grow_for_a_wider_layer_or_for_some_of_its_ranks) {
  constexpr int ranks = 4;
  test::layered_group group(ranks);
  group.add_on_every_rank(layer_params(), test::layer_config());
  test::on_every_rank(ranks, [&](int rank) {
    test::layer_exchange wide(group.layer(rank, 0), group.stream(rank), {0, 8, 256});
    const auto message = message_of([&] { wide.dispatch(); });
    EXPECT_NE(message.find("hidden_states"), std::string::npos) << message;
    EXPECT_NE(message.find("256"), std::string::npos) << message;
    EXPECT_NE(message.find("128"), std::string::npos) << message;
    test::layer_exchange(group.layer(rank, 0), group.stream(rank), {1, 8, 128}).run();
  });
  test::on_every_rank(2, [&](int rank) {
    try {
      group.add(rank, layer_params(80), test::layer_config(200ms));
      ADD_FAILURE() << "a workspace of two ranks of four";
    } catch (const peer_fault& e) {
      EXPECT_TRUE(contains(e.record().missing, 2) && contains(e.record().missing, 3)) << e.what();
    }
  });
  test::on_every_rank(ranks, [&](int rank) {
    test::layer_exchange(group.layer(rank, 0), group.stream(rank), {2, 20, 128}).run();
  });
}

TEST(shared_workspace, is_refused_to_ranks_that_do_not_agree_on_who_has_it) {
  test::layered_group group(2);
  group.add_on_every_rank(layer_params(), test::layer_config());
  group.drop(1, 0);
  test::on_every_rank(2, [&](int rank) {
    const auto message = message_of([&] { group.add(rank, layer_params(), test::layer_config()); });
    EXPECT_EQ(
        message,
        "construction: ranks must agree, but instances made before on the workspace is 0 on rank 1 and 1 on rank 0");
  });
  group.drop(0, 0);
  group.add_on_every_rank(layer_params(), test::layer_config());
  test::on_every_rank(2, [&](int rank) {
    test::layer_exchange(group.layer(rank, 1), group.stream(rank), {0, 8, 128}).run();
  });
}

TEST(shared_workspace, is_refused_where_it_is_poisoned_until_somebody_recovers) {
  test::layered_group group(2);
  group.add_on_every_rank(layer_params(), test::layer_config());
  group.add_on_every_rank(layer_params(), test::layer_config());
  test::on_every_rank(2, [&](int rank) {
    test::layer_exchange cut_short(group.layer(rank, 0), group.stream(rank), {0, 8, 128});
    cut_short.dispatch();
    group.stream(rank).synchronize();
    if (rank == 0) group.layer(0, 1).abort("a test");
    EXPECT_NE(
        message_of([&] { group.add(rank, layer_params(), test::layer_config()); }).find("is poisoned, recover() first"),
        std::string::npos);
    group.layer(rank, 1).recover(*group.backends[static_cast<std::size_t>(rank)], layout::all_ranks(2));
    EXPECT_THROW(cut_short.combine(), state_error) << "the step that was in flight is over, for every instance";
    test::layer_exchange(group.layer(rank, 0), group.stream(rank), {1, 8, 128}).run();
    group.add(rank, layer_params(), test::layer_config());
    test::layer_exchange(group.layer(rank, 2), group.stream(rank), {2, 8, 128}).run();
  });
}

TEST(shared_workspace, waits_for_recover_where_an_instance_went_within_a_step) {
  test::layered_group group(2);
  for (int layer = 0; layer < 2; ++layer) group.add_on_every_rank(layer_params(), test::layer_config());
  test::on_every_rank(2, [&](int rank) {
    {
      test::layer_exchange open(group.layer(rank, 0), group.stream(rank), {0, 8, 128});
      open.dispatch();
      group.drop(rank, 0);
    }
    test::layer_exchange next(group.layer(rank, 1), group.stream(rank), {1, 8, 128});
    EXPECT_NE(message_of([&] { next.dispatch(); }).find("was destroyed within a step: recover() first"),
              std::string::npos);
    group.layer(rank, 1).recover(*group.backends[static_cast<std::size_t>(rank)], layout::all_ranks(2));
    next.run();
  });
}

}  // namespace
}  // namespace switchyard
