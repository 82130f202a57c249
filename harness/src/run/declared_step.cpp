// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/declared_step.hpp"

#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/rank_masks.hpp"

namespace switchyard::harness {
namespace {

// In the order of all_payloads.
constexpr std::array<step_field, all_payloads.size()> width_fields{
    step_field::hidden_states_row_bytes, step_field::topk_ids_row_bytes, step_field::topk_weights_row_bytes,
    step_field::hidden_states_scale_row_bytes, step_field::extra_row_bytes};

/// By a word, which leaves a step eligible for the transport that it had; or by a byte where there is no more.
std::size_t narrowed(std::size_t row_bytes) { return row_bytes > 4 ? row_bytes - 4 : row_bytes - 1; }

dtype other_narrow_dtype(dtype type) { return type == dtype::bf16 ? dtype::fp16 : dtype::bf16; }

}  // namespace

declared_step declared_by(const case_spec& spec, const step_plan& plan, int rank) {
  declared_step declared;
  declared.tokens_per_rank = plan.tokens_per_rank_of(rank);
  for (std::size_t i = 0; i < all_payloads.size(); ++i) {
    const auto kind = all_payloads.at(i);
    auto travels =
        (kind != payload_kind::topk_weights || plan.topk_weights) && (kind != payload_kind::extra || plan.extra);
    if (kind == payload_kind::topk_weights && plan.is_odd(rank, step_field::payload_set)) travels = false;
    auto& row_bytes = declared.row_bytes.at(i);
    row_bytes = travels ? payload_row_bytes(spec, kind, plan.step) : 0;
    if (plan.is_odd(rank, width_fields.at(i))) row_bytes = narrowed(row_bytes);
  }
  declared.eplb_stats_length = plan.eplb_stats_length_of(rank);
  declared.combine_hidden_size = plan.combine_hidden_size_of(rank);
  declared.combine_dtype =
      plan.is_odd(rank, step_field::combine_dtype) ? other_narrow_dtype(spec.params.dtype) : spec.params.dtype;
  declared.layer = layer_of(spec, plan.step);
  if (plan.is_odd(rank, step_field::instance)) {
    declared.layer = (declared.layer + 1) % layers_left(spec, plan.step);
  }
  const bool odd_mask = plan.is_odd(rank, step_field::rank_mask);
  declared.mask = odd_mask ? declared_mask(spec, rank, spec.inject->step) : plan.active;
  return declared;
}

std::uint64_t value_of(const declared_step& declared, step_field field) noexcept {
  for (std::size_t i = 0; i < width_fields.size(); ++i) {
    if (field == width_fields.at(i)) return declared.row_bytes.at(i);
  }
  if (field == step_field::payload_set) {
    std::uint64_t set = 0;
    for (std::size_t i = 0; i < declared.row_bytes.size(); ++i) {
      if (declared.row_bytes.at(i) != 0) set |= std::uint64_t{1} << i;
    }
    return set;
  }
  if (field == step_field::runtime_max_tokens_per_rank) return static_cast<std::uint64_t>(declared.tokens_per_rank);
  if (field == step_field::eplb_stats_length) return static_cast<std::uint64_t>(declared.eplb_stats_length);
  if (field == step_field::combine_hidden_size) return static_cast<std::uint64_t>(declared.combine_hidden_size);
  if (field == step_field::combine_dtype) return static_cast<std::uint64_t>(declared.combine_dtype);
  if (field == step_field::instance) return static_cast<std::uint64_t>(declared.layer);
  if (field == step_field::rank_mask) return declared.mask[0];  // of at most 32 ranks: what the header says as it is
  return 0;
}

}  // namespace switchyard::harness
