// SPDX-License-Identifier: Apache-2.0
// What combine returned against the golden sums, and the state after faults, and fences.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/generator_random.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/reference/low_precision_combine.hpp"
#include "switchyard/reference/simulated_expert.hpp"
#include "verifier_bytes.hpp"

namespace switchyard::harness {
namespace {

std::size_t output_row_bytes(const step_inputs& inputs, int rank) {
  return static_cast<std::size_t>(inputs.plan().combine_hidden_size_of(rank)) * itemsize(inputs.params().dtype);
}

bool is_nan(std::uint64_t bits, dtype type) {
  switch (type) {
    case dtype::bf16: return (bits & 0x7FFFU) > 0x7F80U;
    case dtype::fp16: return (bits & 0x7FFFU) > 0x7C00U;
    case dtype::fp32: return (bits & 0x7FFFFFFFU) > 0x7F800000U;
  }
  return false;
}

}  // namespace

void finding_log::add(finding found) {
  ++total_;
  if (!full()) kept_.push_back(std::move(found));
}

rank_verifier::rank_verifier(const case_spec& spec, int rank, row_index& rows) : spec_(spec), rank_(rank), rows_(rows) {
  const std::size_t row = static_cast<std::size_t>(spec.params.hidden_size) * itemsize(spec.params.dtype);
  const auto owners = static_cast<std::size_t>(std::min<std::int64_t>(spec.params.top_k, spec.ep_size));
  expert_rows_.resize(row * owners);
  expected_.resize(row);
}

// A sum, so that the order in which ranks and steps are looked at does not matter.
void rank_verifier::digest_row(int step, std::size_t buffer, std::int64_t row,
                               std::span<const std::byte> bytes) noexcept {
  const auto place = key_of({static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(rank_),
                             static_cast<std::uint64_t>(buffer), static_cast<std::uint64_t>(row)});
  results_digest_ += mix64(hash_row(bytes) ^ place);
}

void rank_verifier::expected_output(const step_inputs& inputs, std::int64_t token, std::byte* out) {
  const auto& params = inputs.params();
  const auto ids = inputs.topk_ids(rank_, token);
  const auto weights = inputs.topk_weights(rank_, token);
  const auto owners = reference::owners_in_slot_order(ids, params.num_experts, inputs.ep_size(), inputs.plan().active);
  const std::byte* hidden = inputs.row(payload_kind::hidden_states, rank_, token);
  const std::byte* scales = inputs.row(payload_kind::hidden_states_scale, rank_, token);
  const std::size_t row_bytes = static_cast<std::size_t>(params.hidden_size) * itemsize(params.dtype);
  auto& rows = rows_of_token_;
  rows.assign(owners.size(), nullptr);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    std::byte* row = expert_rows_.data() + i * row_bytes;
    reference::simulated_expert_row(owners[i], inputs.ep_size(), params, ids, weights, hidden, scales, row,
                                    spec_.experts);
    rows[i] = row;
  }
  reference::combine_token_in(spec_.low_precision_combine, rows, owners,
                              static_cast<std::size_t>(inputs.plan().combine_hidden_size), params.dtype,
                              reference::sum_order::slot_order, out);
}

void rank_verifier::check_output(const step_inputs& inputs, const std::byte* output, finding_log& log) {
  const std::size_t row_bytes = output_row_bytes(inputs, rank_);
  const auto count = inputs.plan().num_tokens[static_cast<std::size_t>(rank_)];
  std::rotate(output_hashes_.begin(), output_hashes_.end() - 1, output_hashes_.end());
  auto& hashes = output_hashes_.front();
  hashes.clear();
  std::vector<std::int64_t> wrong;
  for (std::int64_t token = 0; token < count; ++token) {
    expected_output(inputs, token, expected_.data());
    if (spec_.low_precision_combine != low_precision::none) {
      low_precision_error_.add_token(rows_of_token_, static_cast<std::size_t>(inputs.plan().combine_hidden_size),
                                     inputs.params().dtype, expected_.data());
    }
    hashes.push_back(hash_row(std::span(expected_).first(row_bytes)));
    checked_bytes_ += row_bytes;
    const std::byte* actual = output + static_cast<std::size_t>(token) * row_bytes;
    digest_row(inputs.step(), all_payloads.size(), token, {actual, row_bytes});
    if (std::memcmp(actual, expected_.data(), row_bytes) != 0) wrong.push_back(token);
  }
  // Explained only now, when the sums of all tokens are known.
  for (const std::int64_t token : wrong) {
    if (log.full()) {
      log.count_only(1);
    } else {
      explain_output(inputs, token, output + static_cast<std::size_t>(token) * row_bytes, log);
    }
  }
}

void rank_verifier::explain_output(const step_inputs& inputs, std::int64_t token, const std::byte* actual,
                                   finding_log& log) {
  const std::size_t row_bytes = output_row_bytes(inputs, rank_);
  const std::size_t element = itemsize(inputs.params().dtype);
  const std::byte poison = poison_byte(inputs.step());
  expected_output(inputs, token, expected_.data());
  const auto difference = compare_rows(expected_.data(), actual, row_bytes, element, poison);
  finding found{.verdict = verdict::wrong_sum,
                .step = inputs.step(),
                .source = rank_,
                .destination = rank_,
                .token = token,
                .row = token,
                .buffer = "output",
                .byte = static_cast<std::int64_t>(difference.first / element * element),
                .expected = difference.expected,
                .actual = difference.actual,
                .count = 1};
  if (looks_unwritten(actual, row_bytes, poison)) {
    found.verdict = verdict::loss;
    found.detail = "never written";
    return log.add(std::move(found));
  }
  const std::uint64_t hash = hash_row(std::span(actual, row_bytes));
  for (std::size_t age = 0; age < output_hashes_.size(); ++age) {
    const auto& hashes = output_hashes_[age];
    const auto match = std::ranges::find(hashes, hash);
    if (match == hashes.end()) continue;
    const auto other = match - hashes.begin();
    found.verdict = age > 0 ? verdict::stale : verdict::misplacement;
    found.detail =
        "sum of token " + std::to_string(other) + " in step " + std::to_string(inputs.step() - static_cast<int>(age));
    return log.add(std::move(found));
  }
  std::uint64_t elements = 0;
  for (std::size_t at = 0; at < row_bytes; at += element) {
    if (std::memcmp(actual + at, expected_.data() + at, element) != 0) ++elements;
  }
  found.count = difference.count;
  found.detail = "element " + std::to_string(difference.first / element) + " is the first of " +
                 std::to_string(elements) + " wrong ones";
  log.add(std::move(found));
}

void rank_verifier::check_faulted_output(const step_inputs& inputs, const std::byte* output, finding_log& log) {
  const std::size_t element = itemsize(inputs.params().dtype);
  const auto count = inputs.plan().num_tokens[static_cast<std::size_t>(rank_)];
  const std::size_t bytes = output_row_bytes(inputs, rank_) * static_cast<std::size_t>(count);
  finding wrong{.verdict = verdict::wrong_fault, .step = inputs.step(), .destination = rank_, .count = 0};
  for (std::size_t at = 0; at < bytes; at += element) {
    const std::uint64_t bits = load_bits(output + at, element);
    if (is_nan(bits, inputs.params().dtype)) continue;
    if (wrong.count == 0) {
      wrong.buffer = "output";
      wrong.row = static_cast<std::int64_t>(at / output_row_bytes(inputs, rank_));
      wrong.byte = static_cast<std::int64_t>(at % output_row_bytes(inputs, rank_));
      wrong.actual = bits;
    }
    wrong.count += element;
  }
  checked_bytes_ += bytes;
  if (wrong.count == 0) return;
  wrong.detail = "a faulted combine must leave NaN in all of its output; expected bits are any NaN";
  log.add(std::move(wrong));
}

void rank_verifier::check_fence(int step, std::string_view name, std::size_t bytes,
                                const std::optional<canary_damage>& damage, finding_log& log) {
  if (!damage) return;
  finding found{.verdict = verdict::overrun,
                .step = step,
                .destination = rank_,
                .buffer = std::string(name),
                .byte = std::max<std::int64_t>(0, damage->offset),
                .expected = std::to_integer<std::uint64_t>(damage->expected),
                .actual = std::to_integer<std::uint64_t>(damage->actual),
                .count = damage->count};
  found.detail = damage->offset < 0 ? "the byte " + std::to_string(-damage->offset) + " before the buffer"
                                    : "the byte " + std::to_string(damage->offset - static_cast<std::int64_t>(bytes)) +
                                          " past the end of the buffer";
  log.add(std::move(found));
}

}  // namespace switchyard::harness
