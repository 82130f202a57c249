// SPDX-License-Identifier: Apache-2.0
// The arena: alignment, exhaustion, reuse, many threads.
#include "switchyard/harness/arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

TEST(arena_test, honours_alignment_up_to_a_page) {
  arena memory(page_bytes() * 8);
  for (std::size_t alignment = 1; alignment <= page_bytes(); alignment *= 2) {
    memory.reset();
    ASSERT_NE(memory.allocate(1, 1), nullptr);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.allocate(10, alignment));
    EXPECT_EQ(address % alignment, 0U);
  }
  EXPECT_THROW(static_cast<void>(memory.allocate(1, 2 * page_bytes())), std::bad_alloc);
}

TEST(arena_test, gives_all_of_its_bytes_and_no_more) {
  arena memory(3 * page_bytes() - 5);
  EXPECT_EQ(memory.capacity(), 3 * page_bytes());
  void* all = memory.allocate(memory.capacity(), 1);
  std::memset(all, 1, memory.capacity());
  EXPECT_THROW(static_cast<void>(memory.allocate(1, 1)), std::bad_alloc);
  memory.reset();
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(memory.peak(), memory.capacity());
  EXPECT_EQ(memory.allocate(1, 1), all);
  const volatile std::size_t too_much = SIZE_MAX - 2;  // hidden from the compiler, which would warn
  EXPECT_THROW(static_cast<void>(memory.allocate(too_much, 1)), std::bad_alloc);
}

TEST(arena_test, threads_get_memory_of_their_own) {
  constexpr std::size_t each = 64;
  constexpr std::size_t times = 100;
  arena memory(4 * times * each);
  std::vector<std::thread> threads;
  std::vector<std::vector<std::byte*>> blocks(4);
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t k = 0; k < times; ++k) {
        blocks[i].push_back(static_cast<std::byte*>(memory.allocate(each, 16)));
        std::memset(blocks[i].back(), static_cast<int>(i + 1), each);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) {
    for (const std::byte* block : blocks[i]) {
      for (std::size_t at = 0; at < each; ++at) ASSERT_EQ(block[at], static_cast<std::byte>(i + 1));
    }
  }
  EXPECT_EQ(memory.used(), 4 * times * each);
}

TEST(arena_test, abandoned_memory_stays_with_those_who_use_it) {
  arena memory(page_bytes());
  auto* old = static_cast<std::byte*>(memory.allocate(16, 16));
  memory.abandon();
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(memory.capacity(), page_bytes());
  auto* fresh = static_cast<std::byte*>(memory.allocate(16, 16));
  EXPECT_NE(fresh, old);
  old[0] = std::byte{1};
  fresh[0] = std::byte{2};
  EXPECT_EQ(old[0], std::byte{1});
}

TEST(arena_test, an_impossible_size_is_out_of_memory) { EXPECT_THROW(arena(SIZE_MAX), out_of_memory); }

}  // namespace
}  // namespace switchyard::harness
