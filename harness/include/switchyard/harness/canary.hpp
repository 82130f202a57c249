// SPDX-License-Identifier: Apache-2.0
// Buffers between two fences of known bytes, guards inside a workspace, and the bytes that mean "never written".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "switchyard/config.hpp"

namespace switchyard::harness {

/// Byte `index` of a fence. Varies, so that a run of equal bytes written over it always shows.
constexpr std::byte canary_byte(std::size_t index) noexcept {
  return static_cast<std::byte>(0xC5U ^ ((index * 29U) & 0xFFU));
}

/// Byte `index` of a guard inside a workspace: nowhere that of a fence, so that a copy which runs past an input's end
/// and past its row at the receiver does not write what is there already.
constexpr std::byte guard_byte(std::size_t index) noexcept { return ~canary_byte(index); }

/// The byte that fills memory which `step` is about to leave unwritten: 16 of them in turn, all negative as ids.
constexpr std::byte poison_byte(int step) noexcept {
  return static_cast<std::byte>(0xB0U | (static_cast<unsigned>(step) & 0xFU));
}
constexpr bool is_poison_byte(std::byte value) noexcept { return (value & std::byte{0xF0}) == std::byte{0xB0}; }

/// Fills expert outputs that were not computed: NaN in every dtype, which no sum can hide.
inline constexpr int expert_poison = 0xFF;

/// The first byte of a fence that changed.
struct canary_damage {
  std::int64_t offset = 0;  ///< from the start of the fenced bytes; negative: before them
  std::byte expected{};
  std::byte actual{};
  std::uint64_t count = 0;  ///< changed bytes of both fences
};

/// A buffer with a fence of at least 64 bytes on both sides. Does not own the memory; the resource does.
class fenced_buffer {
 public:
  static constexpr std::size_t fence_bytes = 64;
  /// From the start of the block to data(): a cache line and 16 bytes, so that data is aligned to 16 and not to 32, and
  /// code which needs more is found out.
  static constexpr std::size_t front_bytes = 64 + 16;

  fenced_buffer() = default;
  /// Throws what the resource throws.
  fenced_buffer(std::pmr::memory_resource& memory, std::size_t capacity);

  /// Bytes that a buffer of `capacity` takes from its resource, alignment included.
  static std::size_t footprint(std::size_t capacity) noexcept;

  /// 16-byte aligned and no more, as the contract of payloads asks.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Declares how much is in use; the second fence starts right behind. Precondition: bytes <= capacity().
  void resize(std::size_t bytes) noexcept;
  /// Nothing when both fences are whole.
  [[nodiscard]] std::optional<canary_damage> damage() const noexcept;
  /// The same for fences that lie elsewhere: copies of the front_bytes before a buffer and of the fence_bytes behind
  /// its `bytes`.
  static std::optional<canary_damage> damage_of(const std::byte* front, const std::byte* back,
                                                std::size_t bytes) noexcept;
  /// Both fences and what is in use between them.
  [[nodiscard]] std::span<const std::byte> block() const noexcept {
    return {data_ - front_bytes, front_bytes + bytes_ + fence_bytes};
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t capacity_ = 0;
};

/// The gaps between and behind the regions of one workspace, which the library never writes.
class workspace_guards {
 public:
  workspace_guards() = default;
  workspace_guards(std::byte* workspace, std::span<const workspace_region> regions, std::size_t workspace_bytes);

  void fill() const noexcept;
  /// For a workspace that the CPU cannot reach: `write` stores bytes at an address in it.
  using writer = std::function<void(std::byte* to, std::span<const std::byte> bytes)>;
  void fill(const writer& write) const;

  struct broken_guard {
    std::string region;    ///< the region before the gap
    canary_damage damage;  ///< offset from the start of that region
  };
  [[nodiscard]] std::vector<broken_guard> check() const;
  /// `read` loads bytes from an address in the workspace.
  using reader = std::function<void(std::span<std::byte> into, const std::byte* from)>;
  [[nodiscard]] std::vector<broken_guard> check(const reader& read) const;

 private:
  struct gap {
    std::string region;
    std::size_t region_bytes = 0;
    std::span<std::byte> bytes;
  };
  std::vector<gap> gaps_;
};

}  // namespace switchyard::harness
