// SPDX-License-Identifier: Apache-2.0
// What a case comes to by what its ranks have said and how their processes have ended.
#include <gtest/gtest.h>

#include "../run/small_case.hpp"
#include "rank_messages.hpp"
#include "supervised_case.hpp"

namespace switchyard::harness {
namespace {

case_result result_of(const supervised_case& running, const std::string& stuck = {}) {
  return running.result(
      1, false, [](int, int) { return true; }, stuck);
}

case_spec vanishing_case(fault_kind kind) {
  auto spec = small_case(3);
  spec.inject = {.rank = 1, .step = 2, .phase = phase::dispatch, .kind = kind};
  spec.expected_fault = fault_code::timeout;
  return spec;
}

TEST(supervised_result, passes_when_every_rank_has_found_nothing) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  for (int rank = 0; rank < 3; ++rank) {
    (void)running.hear(rank, rank_says::outcome(spec, [rank](rank_outcome& found) {
                         found.checked_bytes = 10;
                         found.results_digest = 1U << rank;
                         found.transport = "fence";
                         found.times[2].combine_ns = 100 + rank;
                       }));
  }
  const auto result = result_of(running);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.checked_bytes, 30U);
  EXPECT_EQ(result.results_digest, 7U);
  EXPECT_EQ(result.transport, "fence");
  ASSERT_EQ(result.times.size(), static_cast<std::size_t>(spec.steps));
  EXPECT_EQ(result.times[2].combine_ns, 102);
}

TEST(supervised_result, fails_by_what_one_rank_has_found) {
  const auto spec = small_case(2);
  supervised_case running(spec);
  (void)running.hear(0, rank_says::outcome(spec));
  (void)running.hear(1, rank_says::outcome(spec, [](rank_outcome& found) {
                       found.log.add({.verdict = verdict::wrong_sum, .step = 3, .destination = 1, .buffer = "output"});
                       found.log.count_only(4);
                     }));
  const auto result = result_of(running);
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_EQ(result.total_findings, 5U);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].step, 3);
}

TEST(supervised_result, an_end_is_a_crash_with_rank_how_and_place) {
  const auto spec = small_case(4);
  supervised_case running(spec);
  (void)running.hear(0, rank_says::outcome(spec));
  (void)running.hear(2, rank_says::beat(1, phase::combine));
  running.note_end(2, "was killed by signal 11 (Segmentation fault)");
  running.note_end(3, "exited with 3");
  running.note_end(0, "exited") /* after all that it had to say */;
  (void)running.hear(1, rank_says::outcome(spec));
  auto result = result_of(running);
  EXPECT_EQ(result.status, case_status::crash);
  EXPECT_EQ(result.reason,
            "rank 2 was killed by signal 11 (Segmentation fault) in combine of step 1, "
            "rank 3 exited with 3 in construction, rank 0 exited behind its last step");
  result = result_of(running, "no progress for 1 ms: rank 2");
  EXPECT_EQ(result.status, case_status::crash) << "says more than that others waited";
}

TEST(supervised_result, those_that_miss_a_rank_that_ended_are_named) {
  const auto spec = small_case(4);
  supervised_case running(spec);
  running.note_end(1, "exited with 3");
  (void)running.hear(0, rank_says::outcome(spec, rank_says::missing_rank(spec, 1, 0)));
  (void)running.hear(2, rank_says::outcome(spec, rank_says::missing_rank(spec, 3, 0)));  // but that one is heard below
  (void)running.hear(3, rank_says::outcome(spec, [](rank_outcome& found) {
                       auto& fault = found.fault.emplace();
                       fault.code = fault_code::timeout;
                       fault.rank = 1;
                     }));
  EXPECT_EQ(running.missed_by(running.silent({})), "; missed by rank 0, rank 3");
  EXPECT_EQ(result_of(running).reason, "rank 1 exited with 3 in construction; missed by rank 0, rank 3");
}

TEST(supervised_result, those_that_miss_a_silent_rank_are_named) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  EXPECT_EQ(running.missed_by(running.silent({})), "");
  (void)running.hear(0, rank_says::outcome(spec, rank_says::missing_rank(spec, 2, 1)));
  (void)running.hear(1, rank_says::outcome(spec));
  EXPECT_EQ(running.missed_by(running.silent({})), "; missed by rank 0");
  const auto result =
      result_of(running, "no end within 200 ms: rank 2 in construction" + running.missed_by(running.silent({})));
  EXPECT_EQ(result.status, case_status::timeout);
  EXPECT_EQ(result.reason, "no end within 200 ms: rank 2 in construction; missed by rank 0");
}

TEST(supervised_result, a_skip_is_the_cases_and_anything_else_the_ranks) {
  const auto spec = small_case(3);
  const auto skip = rank_says::refused(case_status::skipped, "needs more GPUs");
  const auto crash = rank_says::refused(case_status::crash, "no memory");
  {
    supervised_case running(spec);
    for (int rank = 0; rank < 3; ++rank) (void)running.hear(rank, skip);
    EXPECT_EQ(result_of(running).status, case_status::skipped);
    EXPECT_EQ(result_of(running).reason, "needs more GPUs");
  }
  for (const bool crash_first : {false, true}) {
    supervised_case running(spec);
    (void)running.hear(0, crash_first ? crash : skip);
    (void)running.hear(1, crash_first ? skip : crash);
    (void)running.hear(2, rank_says::refused(case_status::fail, "another one, later"));
    EXPECT_EQ(result_of(running).status, case_status::crash);
    EXPECT_EQ(result_of(running).reason, crash_first ? "rank 0: no memory" : "rank 1: no memory");
  }
}

TEST(supervised_result, a_refusal_counts_more_than_outcomes_and_less_than_an_end) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  (void)running.hear(0, rank_says::outcome(spec, [](rank_outcome& found) { found.error = "the case was called off"; }));
  (void)running.hear(1, rank_says::refused(case_status::skipped, "needs more GPUs"));
  EXPECT_EQ(result_of(running).status, case_status::timeout) << "rank 2 did not leave";
  EXPECT_EQ(result_of(running).reason, "needs more GPUs; others did not leave the case then: rank 2 in construction");
  running.note_end(2, "exited with 1");
  EXPECT_EQ(result_of(running).status, case_status::crash);
  EXPECT_EQ(result_of(running).reason, "rank 2 exited with 1 in construction");
}

TEST(supervised_result, a_process_that_was_to_end_leaves_a_pass_when_the_others_miss_it) {
  for (const auto kind : {fault_kind::kill, fault_kind::halt, fault_kind::vanish}) {
    const auto spec = vanishing_case(kind);
    supervised_case running(spec);
    for (int rank = 0; rank < 3; ++rank) (void)running.hear(rank, rank_says::met(meeting_point::after_construction));
    (void)running.note_due_end(1);
    running.note_end(1, "was killed by signal 9 (Killed)");  // has no more to say
    EXPECT_FALSE(running.any_ended());
    for (const int rank : {0, 2})
      (void)running.hear(rank, rank_says::outcome(spec, rank_says::missing_rank(spec, 1, 2)));
    EXPECT_TRUE(running.all_heard());
    const auto result = result_of(running);
    EXPECT_EQ(result.status, case_status::pass) << to_string(kind) << explain(result);
    EXPECT_EQ(result.faults.size(), 2U);
  }
}

TEST(supervised_result, a_process_that_ends_before_its_steps_is_a_crash_whatever_the_case_does) {
  const auto spec = vanishing_case(fault_kind::kill);
  supervised_case running(spec);
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "was killed by signal 9 (Killed)"));
  running.note_end(1, "was killed by signal 9 (Killed)");
  EXPECT_EQ(result_of(running).status, case_status::crash);
}

TEST(supervised_result, fails_where_the_others_do_not_miss_the_process_that_ended) {
  const auto spec = vanishing_case(fault_kind::kill);
  supervised_case running(spec);
  for (int rank = 0; rank < 3; ++rank) (void)running.hear(rank, rank_says::met(meeting_point::after_construction));
  (void)running.note_due_end(1);
  (void)running.hear(0, rank_says::outcome(spec, rank_says::missing_rank(spec, 1, 2)));
  (void)running.hear(2, rank_says::outcome(spec));
  const auto result = result_of(running);
  EXPECT_EQ(result.status, case_status::fail) << explain(result);
  EXPECT_EQ(result.findings.size(), 1U);
}

TEST(supervised_result, a_lost_device_is_named_with_the_first_rank_that_says_so) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  (void)running.hear(0, rank_says::outcome(spec));
  (void)running.hear(2, rank_says::outcome(
                            spec, [](rank_outcome& found) { found.error = "an illegal access"; }, {}, "GPU 2"));
  (void)running.hear(1, rank_says::outcome(
                            spec, [](rank_outcome& found) { found.error = "another"; }, {}, "GPU 1"));
  auto result = result_of(running);
  EXPECT_EQ(result.status, case_status::device_lost);
  EXPECT_EQ(result.reason, "rank 2: GPU 2; seen as: rank 1: another");
}

TEST(supervised_result, a_lost_device_counts_more_than_the_end_of_a_process) {
  const auto spec = small_case(2);
  supervised_case running(spec);
  (void)running.hear(0, rank_says::outcome(
                            spec, [](rank_outcome& found) { found.error = "an illegal access"; }, {}, "GPU 0"));
  running.note_end(1, "exited with 1");
  EXPECT_EQ(result_of(running).status, case_status::device_lost);
}

// A rank that leaves early has not made the inputs of later steps.
TEST(supervised_result, traffic_is_taken_from_whichever_rank_has_it) {
  auto spec = small_case(2);
  spec.steps = 3;
  const std::vector<step_traffic> early{{100, 10, 40}, {}, {}};
  const std::vector<step_traffic> later{{100, 10, 40}, {200, 20, 80}, {600, 60, 60}};
  for (const bool early_first : {false, true}) {
    supervised_case running(spec);
    (void)running.hear(0, rank_says::outcome(
                              spec, [](rank_outcome&) {}, early_first ? early : later));
    (void)running.hear(1, rank_says::outcome(
                              spec, [](rank_outcome&) {}, early_first ? later : early));
    const auto result = result_of(running);
    EXPECT_EQ(result.remote_bytes, 900U);
    EXPECT_EQ(result.returned_bytes, 90U);
    EXPECT_EQ(result.wire_bytes_max_rank, 60U);
  }
}

}  // namespace
}  // namespace switchyard::harness
