// SPDX-License-Identifier: Apache-2.0
// A record that names the wrong rank, field, value or place, or comes too late, is a finding; the right one is none.
#include "fault_judgement.hpp"
#include "case_state.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "small_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

/// Three ranks of which rank 2 disagrees on whether the weights travel, in dispatch of step 1, 5 ms after the others.
class judged_case : public testing::Test {
 protected:
  judged_case() : memory_(required_bytes(disagreeing())), state_(disagreeing(), {}, memory_) {
    for (int rank = 0; rank < 3; ++rank) {
      auto& outcome = state_.outcome(rank);
      outcome.done = true;
      outcome.steps_ended = 1;
      recorded_fault record;
      record.code = fault_code::step_mismatch;
      record.field = step_field::payload_set;
      record.rank = rank == 2 ? 0 : 2;
      record.origin = rank;
      record.expected = rank == 2 ? 0b10011 : 0b10111;
      record.actual = rank == 2 ? 0b10111 : 0b10011;
      record.timeout_ns = 10'000'000'000;
      record.entered_ns = rank == 2 ? 1'005'000'000 : 1'000'000'000;
      record.waited_ns = rank == 2 ? 1'000'000 : 6'000'000;
      outcome.fault = record;
    }
  }
  static case_spec disagreeing() {
    auto spec = small_case(3);
    spec.inject = injected_fault{2, 1, phase::dispatch, fault_kind::disagree, step_field::payload_set};
    spec.expected_fault = fault_code::step_mismatch;
    spec.prompt_verdict = true;
    return spec;
  }
  fault_record& record(int rank) { return *state_.outcome(rank).fault; }
  /// What is said of the records; empty when they are all right.
  std::string findings() {
    finding_log log;
    judge_faults(state_.evidence(), log);
    std::string text;
    for (const auto& found : log.kept()) text += std::to_string(found.destination) + ": " + found.detail + '\n';
    return text;
  }
  void expect_found(int rank, const std::string& problem) {
    const auto text = findings();
    EXPECT_TRUE(text.starts_with(std::to_string(rank) + ": " + problem)) << "found: " << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }

  arena memory_;
  case_state state_;
};

TEST_F(judged_case, right_records_are_no_finding) { EXPECT_EQ(findings(), ""); }

TEST_F(judged_case, another_code) {
  record(0).code = fault_code::bad_header;
  expect_found(0, "the fault due was step_mismatch");
}

TEST_F(judged_case, another_rank) {
  record(1).rank = 0;
  expect_found(1, "it must name rank 2");
}

TEST_F(judged_case, the_rank_itself) {
  record(2).rank = 2;
  expect_found(2, "it must name a peer and that peer's value");
}

TEST_F(judged_case, another_field) {
  record(0).field = step_field::extra_row_bytes;
  expect_found(0, "the field must be payload_set");
}

TEST_F(judged_case, another_value_of_its_own) {
  record(2).expected ^= 1;
  expect_found(2, "it must expect this rank's own value, 19");
}

TEST_F(judged_case, another_value_of_the_peer) {
  record(0).actual ^= 8;
  expect_found(0, "it must name a peer and that peer's value");
}

TEST(judged_abort, is_of_no_phase_while_it_is_on_its_way_to_a_device) {
  auto spec = small_case(3);
  spec.inject = injected_fault{2, 0, phase::combine, fault_kind::abort};
  spec.expected_fault = fault_code::aborted;
  arena memory(required_bytes(spec));
  case_state state(spec, {}, memory);
  for (int rank = 0; rank < 3; ++rank) {
    recorded_fault record;
    record.code = fault_code::aborted;
    record.phase = rank == 2 ? phase::dispatch : phase::combine;
    record.rank = record.origin = 2;
    record.from_notice = rank == 2 ? 0 : 1;
    record.entered_ns = rank == 2 ? 0 : 1'000'000'000;
    record.timeout_ns = 10'000'000'000;
    state.outcome(rank).done = true;
    state.outcome(rank).fault = record;
  }
  const auto findings = [&] {
    finding_log log;
    judge_faults(state.evidence(), log);
    return log.kept().size();
  };
  EXPECT_EQ(findings(), 0U);
  state.outcome(2).fault->entered_ns = 1'000'000'000;
  EXPECT_EQ(findings(), 1U);
}

TEST_F(judged_case, hearsay_where_both_values_were_to_be_had) {
  record(1).from_notice = 1;
  expect_found(1, "it must have both values, not hearsay");
}

TEST_F(judged_case, hearsay_in_the_phase_before_is_all_that_there_is) {
  auto& told = record(1);
  told.from_notice = 1;
  told.phase = phase::combine;
  told.expected = told.actual = 0;
  state_.outcome(1).steps_ended = 0;
  EXPECT_EQ(findings(), "");
}

TEST_F(judged_case, another_phase_or_step) {
  record(0).phase = phase::combine;
  expect_found(0, "the fault was due in dispatch of step 1");
  record(0).phase = phase::dispatch;
  state_.outcome(0).steps_ended = 2;
  expect_found(0, "the fault was due in dispatch of step 1");
}

TEST_F(judged_case, no_record) {
  state_.outcome(1).fault.reset();
  expect_found(1, "no fault recorded where step_mismatch was due");
}

// 5 ms of the 6 that rank 0 waited were its peer's to come.
TEST_F(judged_case, the_time_to_the_verdict_runs_from_the_later_entry) {
  EXPECT_EQ(time_to_verdict(state_.evidence(), 0), 1ms);
  EXPECT_EQ(time_to_verdict(state_.evidence(), 2), 1ms);
  record(0).waited_ns += 98'000'000;
  EXPECT_EQ(findings(), "");
  record(0).waited_ns += 2'000'000;
  expect_found(0, "it came after 101000000 ns, must within 100000000");
}

TEST_F(judged_case, a_verdict_that_need_not_be_prompt_may_take_until_after_the_deadline) {
  state_.spec.prompt_verdict = false;
  record(0).waited_ns = 11'000'000'000;
  EXPECT_EQ(findings(), "");
  record(0).waited_ns = 13'000'000'000;
  expect_found(0, "it came after ");
}

/// Of three ranks, rank 1 stops before combine of step 0.
class missed_rank : public judged_case {
 protected:
  missed_rank() {
    state_.spec.inject = injected_fault{1, 0, phase::combine};
    state_.spec.expected_fault = fault_code::timeout;
    for (const int rank : {0, 2}) {
      state_.outcome(rank).steps_ended = 0;
      auto& mine = record(rank);
      mine = {};
      mine.code = fault_code::timeout;
      mine.phase = phase::combine;
      mine.rank = 1;
      mine.origin = rank;
      insert(mine.missing, 1);
      mine.timeout_ns = 1'000'000'000;
      mine.waited_ns = 1'001'000'000;
    }
    state_.outcome(1).fault.reset();
  }
};

TEST_F(missed_rank, is_named_and_owes_nothing) {
  EXPECT_EQ(findings(), "");
  insert(record(0).missing, 2);
  expect_found(0, "it must name exactly rank 1");
}

TEST_F(missed_rank, is_missed_within_the_deadline_and_a_tenth) {
  record(2).waited_ns = 1'100'000'000;
  EXPECT_EQ(findings(), "");
  record(2).waited_ns = 1'100'000'001;
  expect_found(2, "it came after 1100000001 ns, must within 1100000000");
}

TEST(due_fault_test, follows_from_what_is_done) {
  const auto due = [](fault_kind kind, phase which = phase::dispatch, step_field field = step_field::none) {
    return due_fault(injected_fault{0, 0, which, kind, field});
  };
  EXPECT_EQ(due(fault_kind::exit), fault_code::timeout);
  EXPECT_EQ(due(fault_kind::skip), fault_code::out_of_order);
  EXPECT_EQ(due(fault_kind::misdirect), fault_code::order_mismatch);
  EXPECT_EQ(due(fault_kind::corrupt), fault_code::bad_header);
  EXPECT_EQ(due(fault_kind::corrupt, phase::combine, step_field::row_count), fault_code::step_mismatch);
  EXPECT_EQ(due(fault_kind::corrupt, phase::dispatch, step_field::row_count), fault_code::bad_header);
  EXPECT_EQ(due(fault_kind::corrupt, phase::dispatch, step_field::transport), fault_code::step_mismatch);
}

}  // namespace
}  // namespace switchyard::harness
