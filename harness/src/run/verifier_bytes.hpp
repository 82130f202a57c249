// SPDX-License-Identifier: Apache-2.0
// How two rows differ, and whether a row was never written. Shared by the checks of dispatch and combine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {

struct byte_difference {
  std::size_t first = 0;        ///< first differing byte
  std::uint64_t count = 0;      ///< differing bytes
  std::uint64_t unwritten = 0;  ///< of these, bytes that still are poison
  std::uint64_t expected = 0;   ///< the element around `first`
  std::uint64_t actual = 0;
};

/// Precondition: the rows differ. `poison` is what the row held before it was due; elements have `element_bytes` 1..8.
byte_difference compare_rows(const std::byte* expected, const std::byte* actual, std::size_t bytes,
                             std::size_t element_bytes, std::byte poison) noexcept;

/// Whether a row looks as if nobody ever wrote it: poison of the step before, or, in rows wide enough that data never
/// looks like that, one poison byte or zero throughout.
bool looks_unwritten(const std::byte* row, std::size_t bytes, std::byte poison) noexcept;

/// Up to 8 bytes as a little-endian number.
std::uint64_t load_bits(const std::byte* bytes, std::size_t count) noexcept;

/// Bytes of the values that a row of `kind` consists of.
std::size_t element_bytes(const comm_params& params, payload_kind kind) noexcept;

}  // namespace switchyard::harness
