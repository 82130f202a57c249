// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

constexpr std::size_t required_alignment = 16;

template <class Value>
[[noreturn]] void refuse(std::string_view field, Value value, const std::string& rule) {
  throw invalid_argument(std::string(field) + " is " + std::to_string(value) + ", must be " + rule);
}

void in_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most, const char* why) {
  if (value >= least && value <= most) return;
  refuse(field, value, std::to_string(least) + " .. " + std::to_string(most) + why);
}

void check_pointer(const std::string& name, const void* data, const char* rows) {
  if (data == nullptr) throw invalid_argument(name + " is null, must point to " + rows);
  const auto past = reinterpret_cast<std::uintptr_t>(data) % required_alignment;
  if (past != 0) {
    throw invalid_argument(name + " is " + std::to_string(past) + " bytes past a multiple of " +
                           std::to_string(required_alignment) + ", must be aligned to it");
  }
}

void check_payload(const std::string& name, const payload& what, std::int64_t num_tokens, std::size_t capacity) {
  if (!what.present) return;
  if (what.row_bytes == 0) refuse(name + ".row_bytes", what.row_bytes, "at least 1 when the payload is present");
  if (what.row_bytes > capacity) {
    refuse(name + ".row_bytes", what.row_bytes, "at most the capacity of " + std::to_string(capacity) + " bytes");
  }
  if (num_tokens == 0) return;
  check_pointer(name + ".data", what.data, "num_tokens rows");
}

void check_required(const std::string& name, const payload& what) {
  if (!what.present) throw invalid_argument(name + ".present is false, but the payload is required");
}

}  // namespace

std::chrono::nanoseconds effective_warmup(const one_sided_config& config) {
  if (config.warmup_timeout.count() != 0) return config.warmup_timeout;
  return std::max<std::chrono::nanoseconds>(config.timeout, std::chrono::seconds(300));
}

void check_group(const comm_params& params, const one_sided_config& config, int ep_size) {
  constexpr auto int32_max = std::numeric_limits<std::int32_t>::max();
  in_range("ep_size", ep_size, 1, max_ep_size, "");
  in_range("dtype", static_cast<std::int64_t>(params.dtype), 0, static_cast<std::int64_t>(dtype::fp32), " (a dtype)");
  if (params.dispatch_format) {
    in_range("dispatch_format", static_cast<std::int64_t>(*params.dispatch_format), 0,
             static_cast<std::int64_t>(dispatch_format::mxfp4), " (a dispatch_format)");
  }
  in_range("num_experts", params.num_experts, 1, int32_max, "");
  in_range("top_k", params.top_k, 1, max_top_k, "");
  in_range("max_tokens_per_rank", params.max_tokens_per_rank, 1, int32_max / 2, "");
  in_range("hidden_size", params.hidden_size, 1, 1 << 24, "");
  if (params.num_experts < ep_size) {
    refuse("num_experts", params.num_experts, "at least ep_size = " + std::to_string(ep_size));
  }
  if (params.top_k > params.num_experts) {
    refuse("top_k", params.top_k, "at most num_experts = " + std::to_string(params.num_experts));
  }
  if (params.invalid_expert_id >= 0 && params.invalid_expert_id < params.num_experts) {
    refuse("invalid_expert_id", params.invalid_expert_id,
           "outside [0, num_experts = " + std::to_string(params.num_experts) + ")");
  }
  in_range("extra_payload_bytes_per_token", static_cast<std::int64_t>(config.extra_payload_bytes_per_token), 0, 1 << 24,
           "");
  in_range("eplb_stats_num_experts", config.eplb_stats_num_experts, 0, params.num_experts, " (num_experts)");
  constexpr std::int64_t millisecond = 1'000'000;
  constexpr std::int64_t day = 24 * 3600 * 1000 * millisecond;
  in_range("timeout", config.timeout.count(), millisecond, day, " nanoseconds (1 ms .. 24 h)");
  if (config.warmup_timeout.count() != 0) {
    in_range("warmup_timeout", config.warmup_timeout.count(), millisecond, day,
             " nanoseconds (1 ms .. 24 h), or 0 for max(timeout, 300 s)");
  }
  in_range("lamport", static_cast<std::int64_t>(config.lamport), 0, static_cast<std::int64_t>(choice::on),
           " (a choice)");
  in_range("lamport_max_tokens", config.lamport_max_tokens, 1, 1 << 30, "");
  in_range("low_precision_combine", static_cast<std::int64_t>(config.low_precision_combine), 0,
           static_cast<std::int64_t>(low_precision::fp8_block_scaled), " (a low_precision)");
  in_range("max_blocks", config.max_blocks, 0, 4096, "");
}

layout::extents extents_of(const comm_params& params, const one_sided_config& config, int ep_size) {
  const auto bytes = params.dispatch_bytes();
  layout::extents dims;
  dims.ep_size = static_cast<std::uint64_t>(ep_size);
  dims.top_k = static_cast<std::uint64_t>(params.top_k);
  dims.max_tokens = static_cast<std::uint64_t>(params.max_tokens_per_rank);
  dims.hidden_bytes = bytes.hidden_states;
  dims.scale_bytes = bytes.hidden_states_scale;
  dims.extra_bytes = config.extra_payload_bytes_per_token;
  dims.eplb_words = static_cast<std::uint64_t>(config.eplb_stats_num_experts);
  dims.combine_row_bytes = static_cast<std::uint64_t>(params.hidden_size) * itemsize(params.dtype);
  dims.rank_masks = config.enable_rank_mask;
  dims.combine_format = config.low_precision_combine;
  if (config.lamport != choice::off) {
    dims.lamport_tokens = std::min(dims.max_tokens, static_cast<std::uint64_t>(config.lamport_max_tokens));
  }
  // Every region is at most 2^38 rows of at most 2^26 bytes: ask in floating point whether the sum can overflow.
  auto per_row = static_cast<double>(dims.hidden_bytes + dims.scale_bytes + dims.extra_bytes + dims.combine_row_bytes +
                                     16 * dims.top_k);
  if (dims.lamport_tokens != 0) per_row += static_cast<double>(dims.lamport_row_bytes() + dims.lamport_output_bytes());
  const auto estimate = static_cast<double>(dims.receive_rows()) * per_row;
  if (estimate > 0x1p46) {
    throw invalid_argument("max_tokens_per_rank is " + std::to_string(params.max_tokens_per_rank) +
                           ", must keep the workspace below 2^46 bytes");
  }
  if (dims.receive_rows() >= std::uint64_t{1} << 32) {
    throw invalid_argument("max_tokens_per_rank is " + std::to_string(params.max_tokens_per_rank) + " with " +
                           std::to_string(ep_size) + " ranks, must keep their product below 2^32");
  }
  return dims;
}

void check_tokens_per_rank(std::int64_t tokens_per_rank, const comm_params& params) {
  in_range("runtime_max_tokens_per_rank", tokens_per_rank, 1, params.max_tokens_per_rank, " (max_tokens_per_rank)");
}

void check_dispatch(const dispatch_inputs& inputs, std::int64_t tokens_per_rank, const comm_params& params,
                    const one_sided_config& config) {
  in_range("num_tokens", inputs.num_tokens, 0, tokens_per_rank, " (runtime_max_tokens_per_rank)");
  const auto n = inputs.num_tokens;
  const auto ids_bytes = static_cast<std::size_t>(params.top_k) * sizeof(std::int32_t);
  check_required("hidden_states", inputs.hidden_states);
  check_required("topk_ids", inputs.topk_ids);
  check_payload("hidden_states", inputs.hidden_states, n, params.dispatch_bytes().hidden_states);
  check_payload("topk_ids", inputs.topk_ids, n, ids_bytes);
  if (inputs.topk_ids.row_bytes != ids_bytes) {
    refuse("topk_ids.row_bytes", inputs.topk_ids.row_bytes, "4 * top_k = " + std::to_string(ids_bytes));
  }
  check_payload("topk_weights", inputs.topk_weights, n, ids_bytes);
  check_payload("hidden_states_scale", inputs.hidden_states_scale, n, params.dispatch_bytes().hidden_states_scale);
  check_payload("extra", inputs.extra, n, config.extra_payload_bytes_per_token);
}

bool overlaps(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b);
  return a_bytes != 0 && b_bytes != 0 && a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

void check_statistics(std::span<const std::int32_t> local_stats, const one_sided_config& config,
                      std::span<const std::byte> workspace) {
  in_range("eplb_local_stats.size()", static_cast<std::int64_t>(local_stats.size()), 0, config.eplb_stats_num_experts,
           " (eplb_stats_num_experts)");
  if (local_stats.empty()) return;
  check_pointer("eplb_local_stats.data()", local_stats.data(), "its integers");
  if (overlaps(local_stats.data(), local_stats.size_bytes(), workspace.data(), workspace.size())) {
    throw invalid_argument(
        "eplb_local_stats lies in the workspace, must be memory of yours: it changes there meanwhile");
  }
}

void check_combine(const combine_inputs& inputs, const combine_output& output, std::int64_t num_tokens,
                   const comm_params& params) {
  in_range("combine hidden_size", inputs.hidden_size, 1, static_cast<std::int64_t>(1) << 24, "");
  in_range("combine dtype", static_cast<std::int64_t>(inputs.dtype), 0, static_cast<std::int64_t>(dtype::fp32),
           " (a dtype)");
  const auto capacity = static_cast<std::size_t>(params.hidden_size) * itemsize(params.dtype);
  const auto row_bytes = static_cast<std::size_t>(inputs.hidden_size) * itemsize(inputs.dtype);
  if (row_bytes > capacity) {
    refuse("combine hidden_size", inputs.hidden_size,
           "at most " + std::to_string(capacity / itemsize(inputs.dtype)) + " elements of " +
               std::string(to_string(inputs.dtype)) + " (the workspace's rows have " + std::to_string(capacity) +
               " bytes)");
  }
  if (output.num_tokens != num_tokens) {
    refuse("output.num_tokens", output.num_tokens, "the dispatch's num_tokens = " + std::to_string(num_tokens));
  }
  check_pointer("expert_output", inputs.expert_output, "ep_size * T rows");
  if (num_tokens != 0) check_pointer("output.data", output.data, "num_tokens rows");
}

void check_rank_mask(const rank_set& mask, int rank, int ep_size) {
  for (int each = ep_size; each < max_ep_size; ++each) {
    if (!contains(mask, each)) continue;
    throw invalid_argument("mask has rank " + std::to_string(each) +
                           ", must be of ranks below ep_size = " + std::to_string(ep_size));
  }
  if (!contains(mask, rank)) {
    throw invalid_argument("mask lacks this rank, " + std::to_string(rank) + ", must have it");
  }
}

rank_set mask_of_ranks(std::span<const int> ranks, int ep_size) {
  rank_set mask{};
  for (const int rank : ranks) {
    in_range("rank of a mask", rank, 0, ep_size - 1, " (of ep_size ranks)");
    insert(mask, rank);
  }
  return mask;
}

}  // namespace switchyard
