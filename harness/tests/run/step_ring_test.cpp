// SPDX-License-Identifier: Apache-2.0
// The ring of inputs: who waits for whom, and that nobody waits for ever.
#include "step_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory_resource>
#include <thread>

#include "small_case.hpp"

namespace switchyard::harness {
namespace {

case_spec ring_case() {
  auto spec = small_case(2);
  spec.steps = 20;
  return spec;
}

TEST(step_ring_test, both_ranks_see_the_same_inputs) {
  std::pmr::monotonic_buffer_resource memory;
  step_ring ring(ring_case(), 3, memory);
  const auto* first = ring.acquire(1);
  EXPECT_EQ(first, ring.acquire(1));
  EXPECT_EQ(first->step(), 1);
  EXPECT_EQ(first->plan(), make_step_plan(ring_case(), 3, 1));
}

TEST(step_ring_test, a_slot_waits_for_the_slowest_rank) {
  std::pmr::monotonic_buffer_resource memory;
  step_ring ring(ring_case(), 3, memory);
  const auto* oldest = ring.acquire(0);
  for (int step = 1; step < step_ring::most_depth; ++step) ASSERT_NE(ring.acquire(step), nullptr);
  ring.finish(0, 0);
  std::atomic<bool> reused{false};
  std::thread ahead([&] {
    EXPECT_EQ(ring.acquire(step_ring::most_depth), oldest);
    reused = true;
  });
  EXPECT_EQ(oldest->step(), 0);
  EXPECT_FALSE(reused);
  ring.finish(1, 0);
  ahead.join();
  EXPECT_EQ(oldest->step(), step_ring::most_depth);
}

TEST(step_ring_test, a_rank_that_leaves_holds_nobody_up) {
  std::pmr::monotonic_buffer_resource memory;
  step_ring ring(ring_case(), 3, memory);
  ring.leave(1);
  for (int step = 0; step < 20; ++step) {
    ASSERT_NE(ring.acquire(step), nullptr);
    ring.finish(0, step);
  }
}

TEST(step_ring_test, stop_wakes_the_waiting) {
  std::pmr::monotonic_buffer_resource memory;
  step_ring ring(ring_case(), 3, memory);
  std::thread waiting([&] { EXPECT_EQ(ring.acquire(step_ring::most_depth), nullptr); });
  ring.stop();
  waiting.join();
  EXPECT_EQ(ring.acquire(0), nullptr);
}

TEST(step_ring_test, inputs_that_cannot_be_made_stop_the_ring) {
  std::pmr::monotonic_buffer_resource memory;
  auto spec = ring_case();
  spec.runtime_max_tokens = 3;  // fewer than the tokens of a rank: the golden model refuses
  step_ring ring(spec, 3, memory);
  EXPECT_ANY_THROW(ring.acquire(0));
  EXPECT_EQ(ring.acquire(0), nullptr);
}

TEST(step_ring_test, traffic_of_a_step_is_kept) {
  std::pmr::monotonic_buffer_resource memory;
  auto spec = ring_case();
  spec.params.num_experts = 4;  // top-4 of 4 on 2 ranks: every token is sent
  step_ring ring(spec, 3, memory);
  ASSERT_NE(ring.acquire(0), nullptr);
  EXPECT_EQ(ring.traffic()[0].remote_bytes, 2U * 9 * (48 + 20));
  EXPECT_EQ(ring.traffic()[0].max_rank_bytes, 9U * (48 + 20));
  EXPECT_EQ(ring.traffic()[1].remote_bytes, 0U);
}

}  // namespace
}  // namespace switchyard::harness
