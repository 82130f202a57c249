// SPDX-License-Identifier: Apache-2.0
// Fences of buffers and guards of workspaces.
#include "switchyard/harness/canary.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory_resource>
#include <vector>

namespace switchyard::harness {
namespace {

TEST(canary_test, a_buffer_may_be_used_to_its_last_byte_and_not_beyond) {
  std::pmr::monotonic_buffer_resource memory;
  fenced_buffer buffer(memory, 100);
  buffer.resize(77);
  std::memset(buffer.data(), 0, 77);
  EXPECT_FALSE(buffer.damage());
  for (const std::int64_t at : {-80, -64, -1, 77, 77 + 63}) {
    std::byte& byte = *(buffer.data() + at);
    byte ^= std::byte{0x01};
    const auto damage = buffer.damage();
    ASSERT_TRUE(damage) << at;
    EXPECT_EQ(damage->offset, at);
    EXPECT_EQ(damage->expected ^ damage->actual, std::byte{0x01});
    EXPECT_EQ(damage->count, 1U);
    byte ^= std::byte{0x01};
  }
  EXPECT_FALSE(buffer.damage());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 32, 16U);
}

TEST(canary_test, no_run_of_equal_bytes_looks_like_a_fence) {
  std::pmr::monotonic_buffer_resource memory;
  fenced_buffer buffer(memory, 16);
  for (int value = 0; value < 256; ++value) {
    buffer.resize(16);
    std::memset(buffer.data(), value, 16 + fenced_buffer::fence_bytes);
    ASSERT_TRUE(buffer.damage()) << value;
    EXPECT_GE(buffer.damage()->count, fenced_buffer::fence_bytes - 1);
  }
}

TEST(canary_test, guards_lie_between_and_behind_regions) {
  std::vector<std::byte> workspace(1000);
  const std::vector<workspace_region> regions = {{"first", 0, 100}, {"second", 356, 44}};
  const workspace_guards guards(workspace.data(), regions, workspace.size());
  guards.fill();
  std::memset(workspace.data(), 0, 100);
  std::memset(workspace.data() + 356, 0, 44);
  EXPECT_TRUE(guards.check().empty());
  workspace[103] ^= std::byte{4};
  workspace[999] ^= std::byte{4};
  workspace[998] ^= std::byte{4};
  const auto broken = guards.check();
  ASSERT_EQ(broken.size(), 2U);
  EXPECT_EQ(broken[0].region, "first");
  EXPECT_EQ(broken[0].damage.offset, 103);
  EXPECT_EQ(broken[1].region, "second");
  EXPECT_EQ(broken[1].damage.offset, 998 - 356);
  EXPECT_EQ(broken[1].damage.count, 2U);
}

TEST(canary_test, poison_of_neighbouring_steps_differs_and_is_no_expert) {
  for (int step = -1; step < 40; ++step) {
    EXPECT_TRUE(is_poison_byte(poison_byte(step)));
    EXPECT_NE(poison_byte(step), poison_byte(step + 1));
    std::int32_t id = 0;
    std::memset(&id, std::to_integer<int>(poison_byte(step)), sizeof id);
    EXPECT_LT(id, -1);
  }
}

}  // namespace
}  // namespace switchyard::harness
