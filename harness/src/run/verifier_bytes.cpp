// SPDX-License-Identifier: Apache-2.0
// Byte-wise comparison for explanations; the usual case never comes here.
#include "verifier_bytes.hpp"

#include <algorithm>

#include "switchyard/harness/canary.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t wide_row_bytes = 8;

}  // namespace

byte_difference compare_rows(const std::byte* expected, const std::byte* actual, std::size_t bytes,
                             std::size_t element_bytes, std::byte poison) noexcept {
  byte_difference difference;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (expected[i] == actual[i]) continue;
    if (difference.count == 0) difference.first = i;
    ++difference.count;
    if (actual[i] == poison) ++difference.unwritten;
  }
  const std::size_t begin = difference.first / element_bytes * element_bytes;
  const std::size_t count = std::min(element_bytes, bytes - begin);
  difference.expected = load_bits(expected + begin, count);
  difference.actual = load_bits(actual + begin, count);
  return difference;
}

bool looks_unwritten(const std::byte* row, std::size_t bytes, std::byte poison) noexcept {
  if (bytes == 0 || !std::all_of(row, row + bytes, [row](std::byte value) { return value == row[0]; })) return false;
  if (row[0] == poison) return true;
  return bytes >= wide_row_bytes && (row[0] == std::byte{0} || is_poison_byte(row[0]));
}

std::uint64_t load_bits(const std::byte* bytes, std::size_t count) noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return bits;
}

std::size_t element_bytes(const comm_params& params, payload_kind kind) noexcept {
  switch (kind) {
    case payload_kind::hidden_states: return rows_are_elements(params) ? itemsize(row_dtype(params)) : 1;
    case payload_kind::topk_ids:
    case payload_kind::topk_weights: return 4;
    case payload_kind::hidden_states_scale:
    case payload_kind::extra: return 1;
  }
  return 1;
}

}  // namespace switchyard::harness
