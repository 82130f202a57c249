// SPDX-License-Identifier: Apache-2.0
// Instances go in any order, at any time, and leave nothing behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory_resource>
#include <thread>

#include "support/layered_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;

/// Counts what is out.
class counted_memory final : public std::pmr::memory_resource {
 public:
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::atomic<std::size_t> bytes_{0};
};

std::ptrdiff_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

TEST(destruction, comes_in_any_order_and_the_last_instance_frees) {
  constexpr std::size_t layers = 4;
  counted_memory memory;
  std::array<std::size_t, layers> order{0, 1, 2, 3};
  do {
    test::layered_group group(2);
    group.host_memory = &memory;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      group.add_on_every_rank(test::layer_params(), test::layer_config());
    }
    const auto workspace = workspace_bytes(test::layer_params(), test::layer_config(), 2);
    EXPECT_EQ(memory.bytes(), 2 * workspace) << "one for each rank";
    test::on_every_rank(2, [&](int rank) {
      for (std::uint32_t step = 0; step < layers; ++step) {
        // One rank begins with what the other one ends with; what is left goes on.
        const auto which = order[rank == 0 ? step : layers - 1 - step];
        group.layer(rank, which).destroy();
        group.layer(rank, which).destroy();
        EXPECT_EQ(group.layer(rank, which).workspace_data(), nullptr);
        EXPECT_THROW(group.layer(rank, which).abort("a test"), state_error);
        EXPECT_FALSE(group.layer(rank, which).status());
      }
    });
    EXPECT_EQ(memory.bytes(), 0U);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(destruction, leaves_the_other_layers_exact) {
  test::layered_group group(2);
  for (int layer = 0; layer < 5; ++layer) group.add_on_every_rank(test::layer_params(), test::layer_config());
  test::on_every_rank(2, [&](int rank) {
    for (std::uint32_t left = 5; left > 0; --left) {
      for (std::uint32_t layer = 0; layer < left; ++layer) {
        const auto tokens = 1 + (left * 5 + layer) % 40;
        test::layer_exchange(group.layer(rank, layer), group.stream(rank), {left * 8 + layer, tokens, 128}).run();
      }
      group.drop(rank, left - 1);
    }
  });
}

TEST(destruction, waits_for_a_step_in_flight) {
  test::layered_group group(2);
  group.add_on_every_rank(test::layer_params(), test::layer_config());
  test::on_every_rank(2, [&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(50ms);
    test::layer_exchange step(group.layer(rank, 0), group.stream(rank), {0, 40, 128});
    step.dispatch();
    step.combine();
    group.layer(rank, 0).destroy();
    step.expect_exact();
  });
}

TEST(destruction, is_bounded_where_the_peer_has_left_or_failed) {
  for (const bool peer_aborts : {false, true}) {
    test::layered_group group(2);
    group.add_on_every_rank(test::layer_params(), test::layer_config(300ms));
    const auto begin = std::chrono::steady_clock::now();
    test::on_every_rank(2, [&](int rank) {
      auto& layer = group.layer(rank, 0);
      test::layer_exchange(layer, group.stream(rank), {0, 8, 128}).run();
      if (rank == 1) {
        if (peer_aborts) layer.abort("a test");
        return group.drop(rank, 0);
      }
      test::layer_exchange alone(layer, group.stream(rank), {1, 8, 128});
      try {
        alone.dispatch();
      } catch (const peer_fault&) {  // it has aborted already
      }
      layer.destroy();
      layer.destroy();
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  }
}

TEST(destruction, leaves_nothing_over_200_rounds) {
  counted_memory memory;
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t threads = 0;
  for (int round = 0; round < 200; ++round) {
    {
      test::layered_group group(2);
      group.host_memory = &memory;
      group.add_on_every_rank(test::layer_params(), test::layer_config());
      group.add_on_every_rank(test::layer_params(64), test::layer_config());
      test::on_every_rank(2, [&](int rank) {
        for (const std::size_t layer : {0U, 1U}) {
          test::layer_exchange(group.layer(rank, layer), group.stream(rank), {0, 20, 128}).run();
        }
        if (round % 2 == 0) group.layer(rank, 1).destroy();
      });
    }
    ASSERT_EQ(memory.bytes(), 0U) << "round " << round;
    if (round == 0) {
      descriptors = entries_of("/proc/self/fd");
      threads = entries_of("/proc/self/task");
    }
  }
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
}

enum class leaves_at { rest, within_a_step, a_fault };

/// What a program has that never takes its instances down itself.
void exit_with_instances(leaves_at when) {
  static test::layered_group group(2);
  group.add_on_every_rank(test::layer_params(), test::layer_config(300ms));
  group.add_on_every_rank(test::layer_params(), test::layer_config(300ms));
  test::on_every_rank(2, [&](int rank) {
    test::layer_exchange(group.layer(rank, 1), group.stream(rank), {0, 20, 128}).run();
  });
  if (testing::Test::HasFailure()) std::abort();
  // Never freed: its launch reads the inputs for as long as the group's end takes.
  static auto* const last = new test::layer_exchange(group.layer(0, 0), group.stream(0), {1, 20, 128});
  if (when == leaves_at::within_a_step) last->dispatch();  // and its peer never comes
  if (when == leaves_at::a_fault) group.layer(1, 0).abort("a test");
  std::exit(7);
}

TEST(destruction, may_come_when_the_process_ends) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const auto when : {leaves_at::rest, leaves_at::within_a_step, leaves_at::a_fault}) {
    EXPECT_EXIT(exit_with_instances(when), testing::ExitedWithCode(7), "") << static_cast<int>(when);
  }
}

}  // namespace
}  // namespace switchyard
