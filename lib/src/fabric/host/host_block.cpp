// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/host_block.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "protocol/ordered_sum.hpp"

namespace switchyard::host {
namespace {

// Elements summed at a time: the partial sums stay in the first-level cache.
constexpr std::uint64_t tile_elements = 1024;

template <class Element>
void sum_elements(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows, std::uint64_t elements) {
  using bits = typename Element::bits;
  std::array<bits, tile_elements> row;
  std::array<float, tile_elements> sum;
  for (std::uint64_t first = 0; first < elements; first += tile_elements) {
    const auto count = std::min(tile_elements, elements - first);
    const auto offset = first * sizeof(bits);
    std::memcpy(row.data(), rows[0] + offset, count * sizeof(bits));
    for (std::uint64_t i = 0; i < count; ++i) sum[i] = Element::load(row[i]);
    for (std::uint32_t source = 1; source < num_rows; ++source) {
      std::memcpy(row.data(), rows[source] + offset, count * sizeof(bits));
      for (std::uint64_t i = 0; i < count; ++i) sum[i] += Element::load(row[i]);
    }
    for (std::uint64_t i = 0; i < count; ++i) row[i] = Element::store(sum[i]);
    std::memcpy(out + offset, row.data(), count * sizeof(bits));
  }
}

}  // namespace

void backoff::pause() {
  ++rounds_;
  if (rounds_ < 64) return;  // a peer on another core answers within this
  if (rounds_ < 4096) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

std::uint64_t host_block::now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint32_t host_block::draw_ticket(std::uint32_t* word) {
  return std::atomic_ref(*word).fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t host_block::arrive(std::uint32_t* word, std::uint32_t amount) {
  return std::atomic_ref(*word).fetch_add(amount, std::memory_order_acq_rel);
}

bool host_block::elect(std::uint32_t* word) {
  std::uint32_t none = 0;
  return std::atomic_ref(*word).compare_exchange_strong(none, 1, std::memory_order_acq_rel);
}

std::uint64_t host_block::first_entry(std::uint64_t* word, std::uint64_t now) {
  std::uint64_t none = 0;
  return std::atomic_ref(*word).compare_exchange_strong(none, now, std::memory_order_acq_rel) ? now : none;
}

std::uint32_t host_block::fetch_or(std::uint32_t* word, std::uint32_t bits) {
  return std::atomic_ref(*word).fetch_or(bits, std::memory_order_acq_rel);
}

bool host_block::swap_if(std::uint32_t* word, std::uint32_t expected, std::uint32_t value) {
  return std::atomic_ref(*word).compare_exchange_strong(expected, value, std::memory_order_acq_rel);
}

std::uint32_t host_block::load_u32(std::uint32_t* word) {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

void host_block::store_u32(std::uint32_t* word, std::uint32_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

void host_block::store_u64(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

void host_block::fill_i32(std::int32_t* words, std::int32_t value, std::uint64_t count) {
  std::fill_n(words, count, value);
}

void host_block::fill_nan(std::byte* out, std::uint64_t elements, dtype type) {
  const auto fill = [&](auto pattern) {
    for (std::uint64_t i = 0; i < elements; ++i) std::memcpy(out + i * sizeof(pattern), &pattern, sizeof(pattern));
  };
  if (type == dtype::fp32) {
    fill(protocol::canonical_nan_32);
  } else {
    fill(protocol::canonical_nan_16);
  }
}

void host_block::copy_local(std::byte* out, const std::byte* in, std::uint64_t bytes) {
  if (bytes != 0) std::memcpy(out, in, bytes);
}

void host_block::record(layout::fault_mailbox* mailbox, const fault_record& record) {
  mailbox->record = record;
  // Pairs with the acquire in read_fault: whoever sees the sequence sees the record.
  std::atomic_ref(mailbox->sequence).store(1, std::memory_order_release);
}

void host_block::put(std::byte* out, const std::byte* in, std::uint64_t bytes) {
  if (bytes != 0) std::memcpy(out, in, bytes);
}

void host_block::post(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

std::uint64_t host_block::poll(const std::uint64_t* word) {
  // C++20 has no atomic_ref to const; the load does not write.
  return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

std::uint64_t host_block::load_word(const std::uint64_t* word) {
  return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
}

void host_block::store_word(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_relaxed);
}

void host_block::reduce_rows(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows,
                             std::uint64_t elements, dtype type) {
  const auto bytes = elements * itemsize(type);
  if (num_rows == 0) {
    std::memset(out, 0, bytes);  // exact +0
  } else if (num_rows == 1) {
    std::memcpy(out, rows[0], bytes);  // bit for bit, whatever the bits are
  } else {
    protocol::with_element(type, [&](auto element) { sum_elements<decltype(element)>(out, rows, num_rows, elements); });
  }
}

protocol::word_pair host_block::load_unit(const protocol::located_unit& unit, std::uint64_t row) {
  protocol::word_pair value;
  std::memcpy(&value, unit.of_row(row), unit.bytes);
  return value;
}

void host_block::store_unit(const protocol::located_unit& unit, std::byte* at, protocol::word_pair value) {
  std::memcpy(at, &value, unit.bytes);
}

void host_block::add_unit(unit_sum& sum, protocol::word_pair words, bool first, bool alone, dtype type) {
  if (alone) {
    sum.bits = words;
    return;
  }
  protocol::with_element(type, [&](auto element) {
    typename decltype(element)::bits bits[sizeof(words) / sizeof(typename decltype(element)::bits)];
    std::memcpy(bits, &words, sizeof(words));
    for (std::size_t i = 0; i < std::size(bits); ++i) {
      const float value = element.load(bits[i]);
      sum.elements[i] = first ? value : sum.elements[i] + value;
    }
  });
}

protocol::word_pair host_block::rounded_unit(const unit_sum& sum, bool alone, dtype type) {
  auto words = sum.bits;
  if (alone) return words;
  protocol::with_element(type, [&](auto element) {
    typename decltype(element)::bits bits[sizeof(words) / sizeof(typename decltype(element)::bits)];
    for (std::size_t i = 0; i < std::size(bits); ++i) bits[i] = element.store(sum.elements[i]);
    std::memcpy(&words, bits, sizeof(words));
  });
  return words;
}

}  // namespace switchyard::host
