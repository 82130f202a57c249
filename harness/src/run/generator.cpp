// SPDX-License-Identifier: Apache-2.0
// Rows of routing, weights, hidden states, scales and extra bytes from counters.
#include "switchyard/harness/generator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "quantised_row.hpp"
#include "routing_laws.hpp"
#include "row_words.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/generator_random.hpp"

namespace switchyard::harness {
namespace {

void fill_words(std::uint64_t key, element_law law, std::byte* out, std::size_t bytes) {
  const std::size_t words = bytes / 8;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = (word_at(key, i) & law.keep) + law.base;
    std::memcpy(out + 8 * i, &word, 8);
  }
  if (const std::size_t rest = bytes % 8; rest != 0) {
    const std::uint64_t word = (word_at(key, words) & law.keep) + law.base;
    std::memcpy(out + 8 * words, &word, rest);
  }
}

void plant_negative_zero(dtype type, std::uint64_t index, std::byte* row) {
  constexpr std::uint16_t zero16 = 0x8000;
  constexpr std::uint32_t zero32 = 0x80000000;
  if (type == dtype::fp32) {
    std::memcpy(row + 4 * index, &zero32, 4);
  } else {
    std::memcpy(row + 2 * index, &zero16, 2);
  }
}

template <typename Bits>
void make_nans(Bits exponent, Bits fraction, std::byte* row, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(Bits) <= bytes; at += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, row + at, sizeof bits);
    bits = static_cast<Bits>(as_nan(bits, exponent, fraction));
    std::memcpy(row + at, &bits, sizeof bits);
  }
}

void make_nans(dtype type, std::byte* row, std::size_t bytes) {
  switch (type) {
    case dtype::bf16: return make_nans<std::uint16_t>(0x7F80, 0x007F, row, bytes);
    case dtype::fp16: return make_nans<std::uint16_t>(0x7C00, 0x03FF, row, bytes);
    case dtype::fp32: return make_nans<std::uint32_t>(0x7F800000, 0x007FFFFF, row, bytes);
  }
}

void fill_constant(std::uint64_t word, std::byte* row, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof word)
    std::memcpy(row + at, &word, std::min(bytes - at, sizeof word));
}

std::size_t row_bytes_of(const case_spec& spec, const comm_params& params, payload_kind kind) noexcept {
  const auto top_k = static_cast<std::size_t>(params.top_k);
  switch (kind) {
    case payload_kind::hidden_states: return params.dispatch_bytes().hidden_states;
    case payload_kind::topk_ids: return 4 * top_k;
    case payload_kind::topk_weights: return spec.topk_weights ? 4 * top_k : 0;
    case payload_kind::hidden_states_scale: return params.dispatch_bytes().hidden_states_scale;
    case payload_kind::extra: return spec.extra_bytes;
  }
  return 0;
}

/// bf16, which is not quantised either, where rows have no format.
dispatch_format format_of(const comm_params& params) { return params.dispatch_format.value_or(dispatch_format::bf16); }

}  // namespace

std::string_view to_string(payload_kind kind) noexcept {
  switch (kind) {
    case payload_kind::hidden_states: return "hidden_states";
    case payload_kind::topk_ids: return "topk_ids";
    case payload_kind::topk_weights: return "topk_weights";
    case payload_kind::hidden_states_scale: return "hidden_states_scale";
    case payload_kind::extra: return "extra";
  }
  return "unknown";
}

std::size_t payload_row_bytes(const case_spec& spec, payload_kind kind) noexcept {
  return row_bytes_of(spec, spec.params, kind);
}

std::size_t payload_row_bytes(const case_spec& spec, payload_kind kind, int step) noexcept {
  return row_bytes_of(spec, params_of_step(spec, step), kind);
}

bool rows_are_elements(const comm_params& params) noexcept {
  return !params.dispatch_format || !reference::is_quantised(*params.dispatch_format);
}

dtype row_dtype(const comm_params& params) noexcept {
  if (params.dispatch_format == dispatch_format::bf16) return dtype::bf16;
  if (params.dispatch_format == dispatch_format::fp16) return dtype::fp16;
  return params.dtype;
}

step_generator::step_generator(const case_spec& spec, std::uint64_t seed, int step)
    : params_(params_of_step(spec, step)),
      values_(spec.values),
      duplicate_percent_(spec.duplicate_percent),
      trace_(spec.trace),
      seed_(seed),
      step_(step),
      plan_(make_step_plan(spec, seed, step)),
      experts_(std::make_shared<const expert_drawer>(spec, seed, step, plan_.num_tokens)) {
  for (const auto kind : all_payloads) {
    row_bytes_[static_cast<std::size_t>(kind)] = row_bytes_of(spec, params_, kind);
  }
  if (!plan_.topk_weights) row_bytes_[static_cast<std::size_t>(payload_kind::topk_weights)] = 0;
  if (!plan_.extra) row_bytes_[static_cast<std::size_t>(payload_kind::extra)] = 0;
}

std::uint64_t step_generator::row_key(random_use use, int rank, std::int64_t token) const noexcept {
  return key_of({seed_, static_cast<std::uint64_t>(use), static_cast<std::uint64_t>(step_),
                 static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(token)});
}

void step_generator::fill_row(payload_kind kind, int rank, std::int64_t token, std::byte* out) const {
  switch (kind) {
    case payload_kind::hidden_states: return fill_hidden_row(rank, token, out);
    case payload_kind::topk_ids: return fill_id_row(rank, token, out);
    case payload_kind::topk_weights: return fill_weight_row(rank, token, out);
    case payload_kind::hidden_states_scale: return fill_scale_row(rank, token, out);
    case payload_kind::extra: return fill_words(row_key(random_use::extra, rank, token), {}, out, row_bytes(kind));
  }
}

void step_generator::fill_hidden_row(int rank, std::int64_t token, std::byte* out) const {
  if (fill_quantised(rank, token, out, nullptr)) return;
  const std::size_t bytes = row_bytes(payload_kind::hidden_states);
  const std::uint64_t key = row_key(random_use::hidden_states, rank, token);
  counter_random mode(row_key(random_use::row_mode, rank, token));
  if (values_ == hidden_values::ones) {
    return fill_constant(word_of_ones(random_use::hidden_states, format_of(params_), row_dtype(params_)), out, bytes);
  }
  if (values_ == hidden_values::nan_rows && token % 4 == 3) {
    fill_words(key, {}, out, bytes);
    return make_nans(row_dtype(params_), out, bytes);
  }
  if (values_ == hidden_values::hard_words) {
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
      const auto word = hard_word(word_at(key, at / sizeof(std::uint64_t)), at / sizeof(std::uint64_t), token);
      std::memcpy(out + at, &word, std::min(sizeof word, bytes - at));
    }
    return;
  }
  const bool special = mode.chance(1, special_row_period) || values_ == hidden_values::bits;
  if (special || !rows_are_elements(params_)) return fill_words(key, {}, out, bytes);
  const auto type = row_dtype(params_);
  fill_words(key, law_of(type), out, bytes);
  const std::size_t elements = bytes / itemsize(type);
  if (elements >= least_elements_for_zero) plant_negative_zero(type, mode.below(elements), out);
}

void step_generator::fill_scale_row(int rank, std::int64_t token, std::byte* out) const {
  if (fill_quantised(rank, token, nullptr, out)) return;
  const auto bytes = row_bytes(payload_kind::hidden_states_scale);
  if (values_ == hidden_values::ones) {
    return fill_constant(word_of_ones(random_use::hidden_states_scale, format_of(params_), params_.dtype), out, bytes);
  }
  fill_words(row_key(random_use::hidden_states_scale, rank, token), {}, out, bytes);
}

bool step_generator::fill_quantised(int rank, std::int64_t token, std::byte* row, std::byte* scales) const {
  const auto format = format_of(params_);
  if (!has_quantised_rows(values_, format)) return false;
  if (counter_random(row_key(random_use::row_mode, rank, token)).chance(1, special_row_period)) return false;
  const auto elements = static_cast<std::size_t>(params_.hidden_size);
  const quantised_row made(format, elements, row_key(random_use::hidden_states, rank, token));
  std::vector<float> values(elements);
  for (std::size_t j = 0; j < elements; ++j) values[j] = made.value(j);
  const auto bytes = bytes_of(format, elements);
  std::vector<std::byte> other(row == nullptr ? bytes.hidden_states : bytes.hidden_states_scale);
  reference::quantise_row(format, values, tensor_scale_of(format), row == nullptr ? other.data() : row,
                          scales == nullptr ? other.data() : scales);
  return true;
}

void step_generator::fill_id_row(int rank, std::int64_t token, std::byte* out) const {
  const auto top_k = static_cast<std::size_t>(params_.top_k);
  const auto num_experts = static_cast<std::uint64_t>(params_.num_experts);
  std::array<std::int32_t, max_top_k> ids{};
  const auto row = std::span(ids).first(top_k);
  const auto of_rank = static_cast<std::size_t>(rank);
  if (token >= plan_.num_tokens[of_rank] - plan_.padding_rows[of_rank]) {
    std::ranges::fill(row, params_.invalid_expert_id);
    std::memcpy(out, ids.data(), 4 * top_k);
    return;
  }
  experts_->fill(rank, token, counter_random(row_key(random_use::topk_ids, rank, token)), row);
  if (duplicate_percent_ > 0) {
    repeat_slots(duplicate_percent_, counter_random(row_key(random_use::duplicates, rank, token)), row);
  }
  if (plan_.invalid_percent > 0) {
    counter_random random(row_key(random_use::invalid_ids, rank, token));
    for (std::size_t k = 0; k < top_k; ++k) {
      const bool invalid = random.chance(static_cast<std::uint64_t>(plan_.invalid_percent), 100);
      const bool foreign = plan_.foreign_invalid_ids && random.chance(1, 4);
      const auto outside = static_cast<std::int32_t>(num_experts + random.below(3));
      if (invalid) ids[k] = foreign ? outside : params_.invalid_expert_id;
    }
  }
  std::memcpy(out, ids.data(), 4 * top_k);
}

void step_generator::fill_weight_row(int rank, std::int64_t token, std::byte* out) const {
  if (trace_ != nullptr && trace_->has_weights()) {
    const auto weights = trace_->topk_weights(step_, rank, token);
    std::memcpy(out, weights.data(), weights.size_bytes());
    return;
  }
  counter_random random(row_key(random_use::topk_weights, rank, token));
  for (std::size_t k = 0; k < static_cast<std::size_t>(params_.top_k); ++k) {
    const float weight = static_cast<float>(1 + (random.next() & 0xFFFF)) / 32768.0F;
    std::memcpy(out + 4 * k, &weight, 4);
  }
}

}  // namespace switchyard::harness
