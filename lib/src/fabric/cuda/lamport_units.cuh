// SPDX-License-Identifier: Apache-2.0
// How the threads of a block send and take Lamport rows: a unit of two words at a time, two units of a thread under way
// together. No unit is ever stored, or re-armed, twice: a peer may already have used it again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/cuda/ordered_access.cuh"
#include "fabric/cuda/plain_units.cuh"
#include "fabric/cuda/row_copies.cuh"
#include "protocol/lamport_rows.hpp"

namespace switchyard::cuda {

__device__ __forceinline__ ulonglong2 encoded_unit(ulonglong2 plain) {
  return {protocol::encoded(plain.x), protocol::encoded(plain.y)};
}

/// Two targets at a time: what is loaded once is stored twice.
template <class RowAt, class OnException>
__device__ __forceinline__ void send_units(const protocol::payload_list& payloads, std::uint64_t token,
                                           std::uint32_t targets, const RowAt& row_at, const OnException& on_exception,
                                           team_part part) {
  const auto units = payloads.units_of_row();
#pragma unroll 1
  for (std::uint32_t t = 0; t < targets; t += 2) {
    std::uint64_t* one = row_at(t);
    std::uint64_t* other = t + 1 < targets ? row_at(t + 1) : nullptr;
    if (one == nullptr) {
      one = other;
      other = nullptr;
    }
    if (one == nullptr) continue;
    const auto send = [&](std::uint32_t unit, ulonglong2 plain) {
      const auto words = encoded_unit(plain);
      store_relaxed_sys_2xu64(one + 2 * unit, words);
      if (other != nullptr) store_relaxed_sys_2xu64(other + 2 * unit, words);
      if (const auto bits = protocol::exceptions_in(plain.x, plain.y)) on_exception(unit, bits);
    };
#pragma unroll 1
    for (auto first = part.index; first < units; first += 2 * part.count) {
      const auto second = first + part.count;
      const bool both = second < units;
      const auto held = load_payload_unit(payloads, token, first);
      ulonglong2 also_held;
      if (both) also_held = load_payload_unit(payloads, token, second);
      send(first, held);
      if (both) send(second, also_held);
    }
  }
}

/// What the stand-ins of a unit mean: bit 0 all is known, bits 1 and 2 the word is an exception. Out of line: rows have
/// none, as a rule.
template <class Block>
__device__ __noinline__ std::uint32_t look_up_stand_ins(ulonglong2 held, const std::uint64_t* words,
                                                        std::uint32_t units, std::uint32_t unit) {
  std::uint32_t found = 1;
  for (std::uint32_t i = 0; i < 2; ++i) {
    if ((i == 0 ? held.x : held.y) != protocol::stand_in) continue;
    struct loads {
      __device__ static std::uint64_t load_word(const std::uint64_t* word) { return Block::load_word(word); }
    } block;
    const auto means = protocol::meaning_of_stand_in(block, words, units, 2 * unit + i);
    if (means == protocol::meaning::unknown) return 0;
    if (means == protocol::meaning::exception) found |= 2U << i;
  }
  return found;
}

/// Turns a unit's words into what was sent. False while they, or what a stand-in means, are not here.
template <class Block>
__device__ __forceinline__ bool decode_unit(ulonglong2& held, const std::uint64_t* words, std::uint32_t units,
                                            std::uint32_t unit) {
  if (held.x == protocol::armed || held.y == protocol::armed) return false;
  std::uint32_t known = 1;
  if (held.x == protocol::stand_in || held.y == protocol::stand_in) {
    known = look_up_stand_ins<Block>(held, words, units, unit);
    if (known == 0) return false;
  }
  held = {protocol::decoded(held.x, (known & 2U) != 0), protocol::decoded(held.y, (known & 4U) != 0)};
  return true;
}

__device__ __forceinline__ void rearm(std::uint64_t* words, std::uint32_t unit) {
  store_relaxed_sys_2xu64(words + 2 * unit, {protocol::armed, protocol::armed});
}

/// A thread on its way through the units of a row that it takes.
template <class Block>
struct unit_taker {
  Block& block;
  const protocol::payload_list& payloads;
  team_part part;
  std::uint32_t units;
  std::uint32_t unit;  ///< the next one of this thread

  /// Rows `row`, row + step .. below `count`. False after so many fruitless polls; to be gone on with.
  template <class ArrivingAt>
  __device__ __forceinline__ bool take_each(std::uint32_t& row, std::uint32_t count, std::uint32_t step,
                                            const ArrivingAt& arriving_at, std::uint32_t& polls) {
#pragma unroll 1
    for (; row < count; row += step) {
      const auto arriving = arriving_at(row);
      if (arriving.words != nullptr && !take(arriving, polls)) return false;
      unit = part.index;
    }
    return true;
  }

 private:
  __device__ __forceinline__ bool take(const protocol::arriving_row& row, std::uint32_t& polls) {
    auto* words = row.words;
#pragma unroll 1
    while (unit < units) {
      const auto second = unit + part.count;
      const bool both = second < units;
      auto held = load_relaxed_sys_2xu64(words + 2 * unit);
      ulonglong2 also_held{};
      if (both) also_held = load_relaxed_sys_2xu64(words + 2 * second);
      if (!decode_unit<Block>(held, words, units, unit)) {
        if (--polls == 0) return false;
        continue;
      }
      store_payload_unit(payloads, row.to, unit, held);
      rearm(words, unit);
      unit = second;
      if (!both || !decode_unit<Block>(also_held, words, units, second)) continue;
      store_payload_unit(payloads, row.to, second, also_held);
      rearm(words, second);
      unit = second + part.count;
    }
    // By the thread that has the least of the units.
    if (part.index != part.count - 1) return true;
#pragma unroll 1
    while (!protocol::is_closed(block, words, units)) {
      if (--polls == 0) return false;
    }
    return true;
  }
};
template <class Block>
unit_taker(Block&, const protocol::payload_list&, team_part, std::uint32_t, std::uint32_t) -> unit_taker<Block>;

/// A thread on its way through the units of a token's outputs: for each two of its units, source after source in slot
/// order, so that the order of the sum is the contract's whatever comes first. The element type is looked at unit by
/// unit: one loop for all types is fetched once, and leaves more registers.
template <class Block, class OutputAt>
class unit_summer {
  static constexpr std::uint32_t batch = 2;

 public:
  __device__ unit_summer(Block& block, const OutputAt& output_at, std::uint32_t sources, std::byte* out,
                         std::uint32_t elements, dtype type, team_part part)
      : block_(block),
        output_at_(output_at),
        sources_(sources),
        out_(out),
        type_(type),
        row_bytes_(elements * static_cast<std::uint32_t>(itemsize(type))),
        units_((row_bytes_ + unit_bytes - 1) / unit_bytes),
        part_(part),
        first_(part.index),
        source_(first_source()) {}

  /// False after so many fruitless polls; to be gone on with.
  __device__ __forceinline__ bool advance(std::uint32_t polls) {
#pragma unroll 1
    while (first_ < units_) {
#pragma unroll 1
      while (source_ < sources_) {
        ulonglong2 held[batch];
        if (take(output_at_(source_), held)) {
          add(held);
          ++source_;
        } else if (--polls == 0) {
          return false;
        }
      }
      store();
      first_ += batch * part_.count;
      source_ = first_source();
    }
#pragma unroll 1
    for (; source_ < sources_; source_ += part_.count) {
      const auto output = output_at_(source_);
#pragma unroll 1
      while (output.words != nullptr && !protocol::is_closed(block_, output.words, units_)) {
        if (--polls == 0) return false;
      }
    }
    return true;
  }

 private:
  /// Of all sources for a thread's next units; of the trailers, one of a source each, when it has no more: those that
  /// have the least of the units begin.
  __device__ __forceinline__ std::uint32_t first_source() const {
    return first_ < units_ ? 0 : part_.count - 1 - part_.index;
  }
  __device__ __forceinline__ std::uint32_t unit_at(std::uint32_t b) const { return first_ + b * part_.count; }
  __device__ __forceinline__ bool is_wide() const { return row_bytes_ % unit_bytes == 0; }
  __device__ __forceinline__ plain_unit plain_at(std::uint32_t b) const {
    const auto offset = unit_at(b) * unit_bytes;
    return {offset, row_bytes_ - offset < unit_bytes ? row_bytes_ - offset : unit_bytes};
  }

  /// All or nothing: what is taken is re-armed, and cannot be looked at again.
  __device__ __forceinline__ bool take(const protocol::arriving_output& output, ulonglong2 (&held)[batch]) {
    if (output.words == nullptr) {
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        if (unit_at(b) < units_) {
          held[b] = load_unit(output.own, plain_at(b), is_wide(), row_bytes_ % 4 != 0);
        }
      }
      return true;
    }
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (unit_at(b) < units_) held[b] = load_relaxed_sys_2xu64(output.words + 2 * unit_at(b));
    }
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (unit_at(b) < units_ && !decode_unit<Block>(held[b], output.words, units_, unit_at(b))) return false;
    }
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (unit_at(b) < units_) rearm(output.words, unit_at(b));
    }
    return true;
  }

  __device__ __forceinline__ void add(const ulonglong2 (&held)[batch]) {
    switch (type_) {
      case dtype::fp16: return add_as<fp16_unit>(held);
      case dtype::fp32: return add_as<fp32_unit>(held);
      case dtype::bf16: break;
    }
    add_as<bf16_unit>(held);
  }
  /// Where there is one source alone, what goes through the sum are its bits: they come back as they are.
  template <class Element>
  __device__ __forceinline__ void add_as(const ulonglong2 (&held)[batch]) {
    const bool alone = sources_ == 1;
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      element_pack<Element, ulonglong2> pack;
      pack.word = held[b];
#pragma unroll
      for (std::uint32_t e = 0; e < pack.count; ++e) {
        const float value = alone ? __uint_as_float(pack.elements[e]) : Element::load(pack.elements[e]);
        sum_[b][e] = source_ == 0 ? value : sum_[b][e] + value;
      }
    }
  }

  __device__ __forceinline__ void store() {
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (unit_at(b) < units_) store_unit(out_, plain_at(b), rounded(b), is_wide(), row_bytes_ % 4 != 0);
    }
  }
  __device__ __forceinline__ ulonglong2 rounded(std::uint32_t b) const {
    if (sources_ == 0) return {0, 0};  // exact +0
    switch (type_) {
      case dtype::fp16: return rounded_as<fp16_unit>(b);
      case dtype::fp32: return rounded_as<fp32_unit>(b);
      case dtype::bf16: break;
    }
    return rounded_as<bf16_unit>(b);
  }
  template <class Element>
  __device__ __forceinline__ ulonglong2 rounded_as(std::uint32_t b) const {
    element_pack<Element, ulonglong2> pack;
#pragma unroll
    for (std::uint32_t e = 0; e < pack.count; ++e) {
      using bits = typename Element::bits;
      pack.elements[e] = sources_ == 1 ? static_cast<bits>(__float_as_uint(sum_[b][e])) : Element::store(sum_[b][e]);
    }
    return pack.word;
  }

  Block& block_;
  const OutputAt& output_at_;
  std::uint32_t sources_;
  std::byte* out_;
  dtype type_;
  std::uint32_t row_bytes_;
  std::uint32_t units_;
  team_part part_;
  std::uint32_t first_;
  std::uint32_t source_;
  float sum_[batch][unit_bytes / sizeof(std::uint16_t)];
};

}  // namespace switchyard::cuda
