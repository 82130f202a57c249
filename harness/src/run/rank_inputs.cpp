// SPDX-License-Identifier: Apache-2.0
// Filling input buffers and asking the golden model.
#include "switchyard/harness/rank_inputs.hpp"

#include <cstring>

namespace switchyard::harness {
namespace {

std::size_t buffer_bytes(const case_spec& spec, payload_kind kind) {
  return static_cast<std::size_t>(spec.num_tokens) * payload_row_bytes(spec, kind);
}

std::size_t statistics_bytes(const case_spec& spec) {
  return static_cast<std::size_t>(spec.eplb_stats) * sizeof(std::int32_t);
}

payload as_argument(const fenced_buffer& buffer, std::size_t row_bytes, bool empty) {
  if (row_bytes == 0) return {};
  return {empty ? nullptr : buffer.data(), row_bytes, true};
}

}  // namespace

step_inputs::step_inputs(const case_spec& spec, std::pmr::memory_resource& memory) : spec_(spec) {
  buffers_.resize(static_cast<std::size_t>(spec.ep_size));
  for (auto& of_rank : buffers_) {
    for (const auto kind : all_payloads) {
      of_rank[static_cast<std::size_t>(kind)] = fenced_buffer(memory, buffer_bytes(spec, kind));
    }
    statistics_.emplace_back(memory, statistics_bytes(spec));
  }
}

std::size_t step_inputs::footprint(const case_spec& spec) {
  std::size_t of_rank = 0;
  of_rank += fenced_buffer::footprint(statistics_bytes(spec));
  for (const auto kind : all_payloads) of_rank += fenced_buffer::footprint(buffer_bytes(spec, kind));
  return of_rank * static_cast<std::size_t>(spec.ep_size);
}

void step_inputs::generate(std::uint64_t seed, int step) {
  generator_.emplace(spec_, seed, step);
  std::vector<reference::rank_routing> routing(buffers_.size());
  for (int rank = 0; rank < spec_.ep_size; ++rank) {
    fill_rank(rank);
    auto& mine = routing[static_cast<std::size_t>(rank)];
    mine.num_tokens = plan().num_tokens[static_cast<std::size_t>(rank)];
    const auto& ids = buffer(payload_kind::topk_ids, rank);
    mine.topk_ids.resize(ids.bytes() / sizeof(std::int32_t));
    if (ids.bytes() > 0) std::memcpy(mine.topk_ids.data(), ids.data(), ids.bytes());
  }
  const auto rows =
      plan().transport == transport::lamport ? reference::row_order::positional : reference::row_order::packed;
  const reference::step_shape shape{spec_.ep_size, spec_.params, plan().tokens_per_rank, rows, plan().active};
  golden_ = reference::dispatch(shape, routing);
  const std::size_t payload_bytes = generator_->row_bytes(payload_kind::hidden_states) +
                                    generator_->row_bytes(payload_kind::hidden_states_scale) +
                                    generator_->row_bytes(payload_kind::extra);
  traffic_ = reference::count_traffic(shape, routing, payload_bytes);
  const auto output_bytes = combine_bytes_of(spec_.low_precision_combine, spec_.params.dtype,
                                             static_cast<std::size_t>(plan().combine_hidden_size));
  returned_bytes_ = 0;
  for (const auto& of_rank : reference::count_traffic(shape, routing, output_bytes)) {
    returned_bytes_ += of_rank.remote_send_bytes;  // what has come is what goes back
  }
  count_experts(routing);
}

void step_inputs::count_experts(std::span<const reference::rank_routing> routing) {
  std::vector<std::vector<std::int32_t>> counts;
  for (int rank = 0; rank < spec_.ep_size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    counts.push_back(reference::count_experts(routing[index], plan().eplb_stats_length));
    auto& given = statistics_[index];  // a rank that disagrees on the length gives fewer
    given.resize(static_cast<std::size_t>(plan().eplb_stats_length_of(rank)) * sizeof(std::int32_t));
    if (given.bytes() > 0) std::memcpy(given.data(), counts.back().data(), given.bytes());
  }
  gathered_ = reference::gather_statistics(counts, plan().active);
}

void step_inputs::fill_rank(int rank) {
  const auto count = plan().num_tokens[static_cast<std::size_t>(rank)];
  for (const auto kind : all_payloads) {
    auto& buffer = buffers_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)];
    const std::size_t row_bytes = generator_->row_bytes(kind);
    buffer.resize(row_bytes * static_cast<std::size_t>(count));
    if (row_bytes == 0) continue;
    for (std::int64_t token = 0; token < count; ++token) {
      generator_->fill_row(kind, rank, token, buffer.data() + static_cast<std::size_t>(token) * row_bytes);
    }
  }
}

const fenced_buffer& step_inputs::buffer(payload_kind kind, int rank) const noexcept {
  return buffers_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)];
}

const std::byte* step_inputs::row(payload_kind kind, int rank, std::int64_t token) const noexcept {
  return buffer(kind, rank).data() + static_cast<std::size_t>(token) * generator_->row_bytes(kind);
}

std::span<const std::int32_t> step_inputs::topk_ids(int rank, std::int64_t token) const noexcept {
  const auto* ids = reinterpret_cast<const std::int32_t*>(row(payload_kind::topk_ids, rank, token));
  return {ids, static_cast<std::size_t>(spec_.params.top_k)};
}

std::span<const float> step_inputs::topk_weights(int rank, std::int64_t token) const noexcept {
  if (generator_->row_bytes(payload_kind::topk_weights) == 0) return {};
  const auto* weights = reinterpret_cast<const float*>(row(payload_kind::topk_weights, rank, token));
  return {weights, static_cast<std::size_t>(spec_.params.top_k)};
}

dispatch_inputs step_inputs::arguments(int rank) const noexcept {
  dispatch_inputs inputs;
  inputs.num_tokens = plan().num_tokens[static_cast<std::size_t>(rank)];
  const bool empty = inputs.num_tokens == 0;
  const auto argument = [&](payload_kind kind) {
    return as_argument(buffer(kind, rank), generator_->row_bytes(kind), empty);
  };
  inputs.hidden_states = argument(payload_kind::hidden_states);
  inputs.topk_ids = argument(payload_kind::topk_ids);
  inputs.topk_weights = argument(payload_kind::topk_weights);
  inputs.hidden_states_scale = argument(payload_kind::hidden_states_scale);
  inputs.extra = argument(payload_kind::extra);
  return inputs;
}

}  // namespace switchyard::harness
