// SPDX-License-Identifier: Apache-2.0
// The twins of a rank's buffers in memory that the CPU cannot reach.
#include <algorithm>
#include <vector>

#include "case_state.hpp"
#include "rank_device.hpp"
#include "switchyard/harness/step_plan.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t view_alignment = 64;

std::size_t capacity_of(const case_spec& spec, std::size_t which) {
  if (which == statistics_buffer) return static_cast<std::size_t>(spec.eplb_stats) * sizeof(std::int32_t);
  if (which == output_buffer) return output_bytes(spec);
  if (which == expert_output_buffer) return expert_output_bytes(spec);
  return static_cast<std::size_t>(spec.num_tokens) * payload_row_bytes(spec, all_payloads.at(which));
}

// In the order of all_payloads.
constexpr std::array<rows_view dispatch_result::*, all_payloads.size()> result_views{
    &dispatch_result::hidden_states, &dispatch_result::topk_ids, &dispatch_result::topk_weights,
    &dispatch_result::hidden_states_scale, &dispatch_result::extra};

}  // namespace

separate_device::separate_device(const case_spec& spec, std::byte* block, std::pmr::memory_resource& memory)
    : block_(block),
      ep_size_(spec.ep_size),
      num_statistics_(static_cast<std::size_t>(spec.ep_size) * static_cast<std::size_t>(spec.eplb_stats)) {
  std::size_t end = 0;
  for (std::size_t which = 0; which < num_rank_buffers; ++which) {
    offsets_.at(which) = end;
    end += fenced_buffer::footprint(capacity_of(spec, which));
  }
  const auto rows = static_cast<std::size_t>(spec.ep_size * largest_tokens_per_rank(spec));
  for (std::size_t i = 0; i < views_.size(); ++i) {
    auto& copy = views_.at(i);
    copy.capacity = rows * payload_row_bytes(spec, all_payloads.at(i));
    if (copy.capacity > 0) copy.data = static_cast<std::byte*>(memory.allocate(copy.capacity, view_alignment));
  }
  const std::size_t count_bytes = (static_cast<std::size_t>(ep_size_ + 1) + num_statistics_) * sizeof(std::int32_t);
  counts_ = static_cast<std::int32_t*>(memory.allocate(count_bytes, view_alignment));
}

std::size_t separate_device::block_bytes(const case_spec& spec) {
  std::size_t bytes = 0;
  for (std::size_t which = 0; which < num_rank_buffers; ++which) {
    bytes += fenced_buffer::footprint(capacity_of(spec, which));
  }
  return bytes;
}

// A twin is fenced as its buffer is, so its data is no better aligned either.
std::byte* separate_device::address_of(std::size_t which, const fenced_buffer&) {
  return block_ + offsets_.at(which) + fenced_buffer::front_bytes;
}

void separate_device::upload(std::size_t which, const fenced_buffer& host) {
  write(block_ + offsets_.at(which), host.block().data(), host.block().size());
}

rank_device::all_damage separate_device::damage(const all_buffers& hosts) {
  struct fences {
    std::array<std::byte, fenced_buffer::front_bytes> front;
    std::array<std::byte, fenced_buffer::fence_bytes> back;
  };
  std::array<fences, num_rank_buffers> copies;
  std::vector<device_read> reads;
  for (std::size_t which = 0; which < num_rank_buffers; ++which) {
    auto& [front, back] = copies.at(which);
    const auto* data = address_of(which, *hosts.at(which));
    reads.push_back({front.data(), data - front.size(), front.size()});
    reads.push_back({back.data(), data + hosts.at(which)->bytes(), back.size()});
  }
  read_all(reads);
  all_damage found;
  for (std::size_t which = 0; which < num_rank_buffers; ++which) {
    const auto& [front, back] = copies.at(which);
    found.at(which) = fenced_buffer::damage_of(front.data(), back.data(), hosts.at(which)->bytes());
  }
  return found;
}

std::byte* separate_device::draft_of(std::byte*, std::byte* spare) { return spare; }

dispatch_result separate_device::readable(const dispatch_result& views) {
  dispatch_result copies = views;
  std::vector<device_read> reads;
  const auto rows = static_cast<std::size_t>(ep_size_ * views.tokens_per_rank);
  for (std::size_t i = 0; i < views_.size(); ++i) {
    auto& view = copies.*result_views.at(i);
    const auto& copy = views_.at(i);
    // A view that was not due, or one that is too large, is the verifier's to judge and has no more room than this.
    if (view.data == nullptr || copy.data == nullptr) continue;
    reads.push_back({copy.data, view.data, std::min(copy.capacity, rows * view.row_bytes)});
    view.data = copy.data;
  }
  const auto num_counts = std::min(views.recv_counts.size(), static_cast<std::size_t>(ep_size_));
  reads.push_back({reinterpret_cast<std::byte*>(counts_), reinterpret_cast<const std::byte*>(views.recv_counts.data()),
                   num_counts * sizeof(std::int32_t)});
  auto* dropped = counts_ + ep_size_;
  if (views.dropped_routes != nullptr) {
    reads.push_back({reinterpret_cast<std::byte*>(dropped), reinterpret_cast<const std::byte*>(views.dropped_routes),
                     sizeof(*dropped)});
    copies.dropped_routes = dropped;
  }
  auto* statistics = dropped + 1;
  const auto num_statistics = std::min(views.eplb_gathered_stats.size(), num_statistics_);
  reads.push_back({reinterpret_cast<std::byte*>(statistics),
                   reinterpret_cast<const std::byte*>(views.eplb_gathered_stats.data()),
                   num_statistics * sizeof(*statistics)});
  copies.eplb_gathered_stats = {statistics, num_statistics};
  read_all(reads);
  copies.recv_counts = {counts_, num_counts};
  return copies;
}

// The rank's thread is the one that may wait: what the driver calls back on its own thread must not call the driver.
void separate_device::enqueue(std::function<void()> task) {
  synchronize();
  task();
}

}  // namespace switchyard::harness
