// SPDX-License-Identifier: Apache-2.0
// How faults are told is broken on purpose: a record that is wrong, hearsay or late must be found.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mutant.hpp"

namespace switchyard::harness {
namespace {

using injection::effect;
using injection::operation;
using layout::region;

case_spec base_case() {
  auto spec = case_of_mutants("faults");
  spec.runtime_max_tokens = 39;
  spec.extra_bytes = 16;
  spec.steps = 3;
  spec.blocks = spec.workers = case_spec().blocks;
  spec.timeout = spec.warmup_timeout = std::chrono::milliseconds(1000);
  spec.prompt_verdict = true;
  return spec;
}

void rank_2_disagrees(case_spec& spec, step_field field, phase which) {
  spec.inject = injected_fault{2, 0, which, fault_kind::disagree, field};
  spec.expected_fault = fault_code::step_mismatch;
}
void rank_2_has_another_stride(case_spec& spec) {
  rank_2_disagrees(spec, step_field::runtime_max_tokens_per_rank, phase::dispatch);
}
void rank_2_has_no_weights(case_spec& spec) { rank_2_disagrees(spec, step_field::payload_set, phase::dispatch); }
void rank_2_sums_less(case_spec& spec) { rank_2_disagrees(spec, step_field::combine_hidden_size, phase::combine); }
void rank_2_stops(case_spec& spec) {
  spec.inject = injected_fault{2, 0, phase::combine};
  spec.expected_fault = fault_code::timeout;
}

/// Byte offset in the headers region of a word of rank 2's header with parity 0.
std::uint64_t header_byte(phase which, protocol::header_word word) {
  constexpr std::uint64_t words = protocol::fixed_header_words + 2;  // of a capacity of 40 tokens
  constexpr std::uint64_t ranks = 3;
  return ((static_cast<std::uint64_t>(which) * 2 * ranks + 2) * words + static_cast<std::uint64_t>(word)) * 8;
}

std::vector<mutant> all_mutants() {
  using protocol::header_word;
  const killed_by wrong_record{{verdict::wrong_fault}, {}};
  const auto on_word = [](operation op, effect what, std::uint64_t amount, header_word word,
                          phase which = phase::dispatch) {
    return injection::mutation{
        .op = op, .what = what, .amount = amount, .region = region::headers, .offset = header_byte(which, word)};
  };
  return {
      // Both values: every word is told, and read as it was told.
      {"value_not_told", on_word(operation::post, effect::drop, 0, header_word::runtime_max_tokens_per_rank),
       wrong_record, rank_2_has_another_stride},
      {"value_told_wrongly", on_word(operation::post, effect::corrupt, 64, header_word::runtime_max_tokens_per_rank),
       wrong_record, rank_2_has_another_stride},
      {"value_read_wrongly", on_word(operation::poll, effect::corrupt, 8, header_word::payload_set), wrong_record,
       rank_2_has_no_weights},
      {"other_field_told_wrongly",
       on_word(operation::post, effect::corrupt, 1, header_word::runtime_max_tokens_per_rank), wrong_record,
       rank_2_has_no_weights},
      {"value_of_combine_not_told",
       on_word(operation::post, effect::drop, 0, header_word::combine_hidden_size, phase::combine), wrong_record,
       rank_2_sums_less},
      // In time: the digest is among the first words that are sent, and no wait outlasts its deadline.
      {"digest_told_late", on_word(operation::post, effect::delay, 100'000, header_word::digest), wrong_record,
       rank_2_has_another_stride},
      {"deadline_too_long",
       {.op = operation::wait_all, .what = effect::extend, .amount = 300'000, .wait_for = awaited::header},
       wrong_record,
       rank_2_stops},
      // What a failed phase leaves.
      {"ids_left",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::topk_ids, .rank = 0},
       wrong_record,
       rank_2_has_no_weights},
      {"sums_left", {.op = operation::fill_nan, .what = effect::drop, .rank = 1}, wrong_record, rank_2_sums_less},
  };
}

class fault_mutant_of : public testing::TestWithParam<mutant> {};

TEST_P(fault_mutant_of, records_is_killed_by_fence) {
  auto spec = base_case();
  spec.lamport = choice::off;
  expect_killed(spec, GetParam());
}
TEST_P(fault_mutant_of, records_is_killed_by_lamport) { expect_killed(base_case(), GetParam()); }
TEST_P(fault_mutant_of, records_passes_without_the_mutation) { expect_pass_without(base_case(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(faults, fault_mutant_of, testing::ValuesIn(all_mutants()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace switchyard::harness
