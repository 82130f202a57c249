// SPDX-License-Identifier: Apache-2.0
// Filling and checking fences.
#include "switchyard/harness/canary.hpp"

#include <algorithm>

namespace switchyard::harness {
namespace {

constexpr std::size_t block_alignment = 64;

using pattern = std::byte (*)(std::size_t index) noexcept;

void fill_fence(std::byte* fence, std::size_t bytes, pattern byte_at = canary_byte) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) fence[i] = byte_at(i);
}

// Adds the changed bytes of a fence that starts `offset` from the fenced bytes.
void inspect(const std::byte* fence, std::size_t bytes, std::int64_t offset, std::optional<canary_damage>& found,
             pattern byte_at = canary_byte) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (fence[i] == byte_at(i)) continue;
    if (!found) found = canary_damage{offset + static_cast<std::int64_t>(i), byte_at(i), fence[i], 0};
    ++found->count;
  }
}

}  // namespace

fenced_buffer::fenced_buffer(std::pmr::memory_resource& memory, std::size_t capacity) : capacity_(capacity) {
  const std::size_t total = footprint(capacity) - block_alignment;
  auto* block = static_cast<std::byte*>(memory.allocate(total, block_alignment));
  data_ = block + front_bytes;
  fill_fence(block, front_bytes);
  resize(0);
}

std::size_t fenced_buffer::footprint(std::size_t capacity) noexcept {
  const std::size_t total = front_bytes + capacity + fence_bytes;
  return (total + block_alignment - 1) / block_alignment * block_alignment + block_alignment;
}

void fenced_buffer::resize(std::size_t bytes) noexcept {
  bytes_ = bytes;
  fill_fence(data_ + bytes, fence_bytes);
}

std::optional<canary_damage> fenced_buffer::damage() const noexcept {
  if (data_ == nullptr) return std::nullopt;
  return damage_of(data_ - front_bytes, data_ + bytes_, bytes_);
}

std::optional<canary_damage> fenced_buffer::damage_of(const std::byte* front, const std::byte* back,
                                                      std::size_t bytes) noexcept {
  std::optional<canary_damage> found;
  inspect(front, front_bytes, -static_cast<std::int64_t>(front_bytes), found);
  inspect(back, fence_bytes, static_cast<std::int64_t>(bytes), found);
  return found;
}

workspace_guards::workspace_guards(std::byte* workspace, std::span<const workspace_region> regions,
                                   std::size_t workspace_bytes) {
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const std::size_t begin = regions[i].offset + regions[i].bytes;
    const std::size_t end = i + 1 < regions.size() ? regions[i + 1].offset : workspace_bytes;
    if (end > begin) gaps_.push_back({regions[i].name, regions[i].bytes, {workspace + begin, end - begin}});
  }
}

void workspace_guards::fill() const noexcept {
  for (const auto& each : gaps_) fill_fence(each.bytes.data(), each.bytes.size(), guard_byte);
}

void workspace_guards::fill(const writer& write) const {
  std::vector<std::byte> guard;
  for (const auto& each : gaps_) {
    guard.resize(each.bytes.size());
    fill_fence(guard.data(), guard.size(), guard_byte);
    write(each.bytes.data(), guard);
  }
}

std::vector<workspace_guards::broken_guard> workspace_guards::check() const {
  return check([](std::span<std::byte> into, const std::byte* from) { std::copy_n(from, into.size(), into.data()); });
}

std::vector<workspace_guards::broken_guard> workspace_guards::check(const reader& read) const {
  std::vector<broken_guard> broken;
  std::vector<std::byte> guard;
  for (const auto& each : gaps_) {
    std::optional<canary_damage> found;
    guard.resize(each.bytes.size());
    read(guard, each.bytes.data());
    inspect(guard.data(), guard.size(), static_cast<std::int64_t>(each.region_bytes), found, guard_byte);
    if (found) broken.push_back({each.region, *found});
  }
  return broken;
}

}  // namespace switchyard::harness
