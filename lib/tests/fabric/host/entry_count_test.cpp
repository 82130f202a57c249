// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/entry_count.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace switchyard::host {
namespace {

using namespace std::chrono_literals;

TEST(entry_count, waits_for_those_inside_and_no_longer_than_it_is_told) {
  entry_count place;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  EXPECT_TRUE(place.wait_empty_until(now()));
  {
    const entry_count::visit one(place);
    { const entry_count::visit other(place); }
    EXPECT_FALSE(place.wait_empty_until(now() + 5ms));
  }
  EXPECT_TRUE(place.wait_empty_until(now()));
}

// Whoever has closed the place and found it empty has it to himself: visitors that come later see that it is closed.
TEST(entry_count, nobody_is_inside_who_has_not_seen_the_place_closed) {
  for (int round = 0; round < 200; ++round) {
    entry_count place;
    std::atomic<bool> closed{false};
    std::uint64_t guarded = 0;  // written without a lock by visitors of the open place, one for each
    std::array<std::uint64_t, 3> words{};
    std::vector<std::thread> visitors;
    for (auto& word : words) {
      visitors.emplace_back([&] {
        for (;;) {
          const entry_count::visit visit(place);
          if (closed.load(std::memory_order_relaxed)) return;
          ++word;
        }
      });
    }
    std::this_thread::sleep_for(100us);
    closed.store(true, std::memory_order_relaxed);
    ASSERT_TRUE(place.wait_empty_until(std::chrono::steady_clock::now() + 20s));
    for (const auto word : words) guarded += word;
    for (auto& word : words) word = 0;
    for (auto& visitor : visitors) visitor.join();
    for (const auto word : words) ASSERT_EQ(word, 0U) << "round " << round << " after " << guarded;
  }
}

}  // namespace
}  // namespace switchyard::host
