// SPDX-License-Identifier: Apache-2.0
// Lines that people read.
#include "switchyard/harness/case_result.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace switchyard::harness {
namespace {

TEST(case_result_test, every_status_and_verdict_has_a_word_of_its_own) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(case_status::missing); ++i)
    words.insert(to_string(static_cast<case_status>(i)));
  EXPECT_EQ(words.size(), 8U);
  words.clear();
  for (int i = 0; i <= static_cast<int>(verdict::wrong_fault); ++i) words.insert(to_string(static_cast<verdict>(i)));
  EXPECT_EQ(words.size(), 10U);
  EXPECT_EQ(words.count("unknown"), 0U);
}

TEST(case_result_test, a_finding_is_one_line_with_its_coordinates) {
  const finding found{.verdict = verdict::corruption,
                      .step = 3,
                      .source = 1,
                      .destination = 2,
                      .token = 7,
                      .row = 40,
                      .buffer = "hidden_states",
                      .byte = 31,
                      .expected = 16256,
                      .actual = 16384,
                      .count = 2,
                      .detail = "more"};
  EXPECT_EQ(describe(found),
            "corruption: step 3, source 1, destination 2, buffer hidden_states, row 40, token 7, byte 31; "
            "expected 16256 (0x3f80), got 16384 (0x4000); count 2; more");
  EXPECT_EQ(describe(finding{.verdict = verdict::wrong_fault, .destination = 0}),
            "wrong_fault: destination 0; count 1");
}

TEST(case_result_test, a_fault_names_field_and_ranks) {
  recorded_fault record;
  record.code = fault_code::step_mismatch;
  record.phase = phase::combine;
  record.field = step_field::combine_hidden_size;
  record.expected = 24;
  record.actual = 12;
  record.rank = 3;
  insert(record.missing, 3);
  insert(record.missing, 70);
  EXPECT_EQ(describe(record),
            "step_mismatch in combine, combine_hidden_size: expected 24, got 12, rank 3, missing ranks: 3 70");
}

TEST(case_result_test, a_fault_of_masks_names_the_ranks_that_differ) {
  recorded_fault record;
  record.code = fault_code::mask_changed;
  record.field = step_field::rank_mask;
  record.expected = 7;
  record.actual = 11;
  record.rank = 3;
  insert(record.only_expected, 2);
  insert(record.only_actual, 3);
  insert(record.only_actual, 70);
  EXPECT_EQ(describe(record),
            "mask_changed in dispatch, rank_mask: expected 7, got 11, rank 3, ranks in the expected mask only: 2, "
            "ranks in the other mask only: 3 70");
}

}  // namespace
}  // namespace switchyard::harness
