// SPDX-License-Identifier: Apache-2.0
// Traces in memory.
#include "switchyard/harness/routing_trace.hpp"

#include <algorithm>

#include "json_text.hpp"

namespace switchyard::harness {

const routing_trace::row_range* routing_trace::rows_of(int step, int rank) const {
  const auto found = rows_.find({step % about_.steps, rank});
  return found == rows_.end() ? nullptr : &found->second;
}

std::int64_t routing_trace::num_tokens(int step, int rank) const {
  const auto* rows = rows_of(step, rank);
  return rows == nullptr ? 0 : rows->count;
}

std::int64_t routing_trace::largest_num_tokens() const noexcept {
  std::int64_t most = 0;
  for (const auto& [place, rows] : rows_) most = std::max(most, rows.count);
  return most;
}

std::size_t routing_trace::first_slot(int step, int rank, std::int64_t token) const {
  return (rows_of(step, rank)->first + static_cast<std::size_t>(token)) * static_cast<std::size_t>(about_.top_k);
}

std::span<const std::int32_t> routing_trace::topk_ids(int step, int rank, std::int64_t token) const {
  return std::span(ids_).subspan(first_slot(step, rank, token), static_cast<std::size_t>(about_.top_k));
}

std::span<const float> routing_trace::topk_weights(int step, int rank, std::int64_t token) const {
  return std::span(weights_).subspan(first_slot(step, rank, token), static_cast<std::size_t>(about_.top_k));
}

std::size_t routing_trace::bytes() const noexcept {
  constexpr std::size_t node_bytes = 64;  // a node of the map: the entry and what a tree needs to hold it
  return ids_.capacity() * sizeof(std::int32_t) + weights_.capacity() * sizeof(float) + rows_.size() * node_bytes;
}

std::shared_ptr<const routing_trace> trace_folder::load(const std::string& name) {
  auto& known = loaded_[name];
  if (known == nullptr) {
    const auto path = path_of(name);
    known = std::make_shared<const routing_trace>(routing_trace::parse(read_text_file(path), path.string()));
  }
  return known;
}

}  // namespace switchyard::harness
