// SPDX-License-Identifier: Apache-2.0
// required_bytes against what a case really takes.
#include <gtest/gtest.h>

#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

TEST(memory_need_test, is_enough_and_hardly_more_than_that) {
  for (const int ep_size : {1, 2, 3, 8}) {
    for (const auto variation : {step_variation::fixed, step_variation::vary}) {
      auto spec = small_case(ep_size);
      spec.variation = variation;
      spec.params.dispatch_format = dispatch_format::mxfp8;
      const std::size_t needed = required_bytes(spec);
      EXPECT_EQ(needed % page_bytes(), 0U);
      arena memory(needed);
      EXPECT_EQ(run_case(spec, memory, {}).status, case_status::pass);
      EXPECT_LE(memory.peak(), needed);
      // Each workspace may lose two pages to rounding and alignment, each buffer a cache line.
      const std::size_t buffers = static_cast<std::size_t>(ep_size) * (4 * 5 + 2);
      EXPECT_LE(needed, memory.peak() + page_bytes() * (2 * static_cast<std::size_t>(ep_size) + 1) + 64 * buffers);
    }
  }
}

TEST(memory_need_test, fewer_steps_need_fewer_input_sets) {
  auto spec = small_case(8);
  spec.params.hidden_size = 2048;
  spec.steps = 4;
  const std::size_t four = required_bytes(spec);
  spec.steps = 1;
  EXPECT_LT(required_bytes(spec), four);
  spec.steps = 300;
  EXPECT_EQ(required_bytes(spec), four);
}

}  // namespace
}  // namespace switchyard::harness
