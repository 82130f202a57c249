// SPDX-License-Identifier: Apache-2.0
// Meetings, ends and silence of a case as its supervisor counts them.
#include "supervised_case.hpp"

#include <gtest/gtest.h>

#include "../run/small_case.hpp"
#include "channel_ends.hpp"
#include "rank_messages.hpp"

namespace switchyard::harness {
namespace {

case_spec killed_case(int ranks, int rank, int step) {
  auto spec = small_case(ranks);
  spec.inject = {.rank = rank, .step = step, .phase = phase::dispatch, .kind = fault_kind::kill};
  spec.expected_fault = fault_code::timeout;
  return spec;
}

/// "after_steps well", or "none".
std::string text_of_end(const std::optional<ended_meeting>& ended) {
  if (!ended) return "none";
  return std::to_string(static_cast<int>(ended->where)) + (ended->well ? " well" : " not well");
}

/// Everybody comes, and the last one ends it.
void hold_meeting(supervised_case& running, int ranks, meeting_point where) {
  for (int rank = 0; rank + 1 < ranks; ++rank) EXPECT_FALSE(running.hear(rank, rank_says::met(where)));
  const auto ended = running.hear(ranks - 1, rank_says::met(where));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->where, where);
  EXPECT_TRUE(ended->well);
}

TEST(supervised_case, a_meeting_ends_when_every_rank_has_come) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  for (std::size_t where = 0; where < num_meeting_points; ++where) {
    hold_meeting(running, 3, static_cast<meeting_point>(where));
  }
}

TEST(supervised_case, a_rank_that_comes_twice_counts_once) {
  const auto spec = small_case(2);
  supervised_case running(spec);
  EXPECT_FALSE(running.hear(0, rank_says::met(meeting_point::after_construction)));
  EXPECT_FALSE(running.hear(0, rank_says::met(meeting_point::after_construction)));
  EXPECT_FALSE(running.hear(1, rank_says::met(meeting_point::before_construction)));
  EXPECT_EQ(text_of_end(running.hear(1, rank_says::met(meeting_point::after_construction))), "1 well");
  EXPECT_FALSE(running.hear(1, rank_says::met(meeting_point::after_construction))) << "it has ended, and ends once";
  EXPECT_EQ(text_of_end(running.hear(0, rank_says::met(meeting_point::before_construction))), "0 well");
}

TEST(supervised_case, one_rank_that_is_not_well_is_enough) {
  const auto spec = small_case(3);
  for (const int sick : {0, 1, 2}) {
    supervised_case running(spec);
    std::optional<ended_meeting> ended;
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_FALSE(ended);
      ended = running.hear(rank, rank_says::met(meeting_point::after_recovery, rank != sick));
    }
    EXPECT_EQ(text_of_end(ended), "3 not well");
  }
}

TEST(supervised_case, a_meeting_is_called_off_before_all_have_come_and_not_afterwards) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  EXPECT_FALSE(running.hear(0, rank_says::met(meeting_point::after_steps)));
  EXPECT_EQ(text_of_end(running.hear(1, rank_says::off(meeting_point::after_steps))), "4 not well");
  EXPECT_FALSE(running.hear(2, rank_says::off(meeting_point::after_steps)));
  EXPECT_FALSE(running.hear(1, rank_says::met(meeting_point::after_steps)));
  EXPECT_FALSE(running.hear(2, rank_says::met(meeting_point::after_steps)));
  hold_meeting(running, 3, meeting_point::before_construction);
  EXPECT_FALSE(running.hear(0, rank_says::off(meeting_point::before_construction)));
}

TEST(supervised_case, what_is_no_message_is_thrown_back) {
  const auto spec = small_case(2);
  supervised_case running(spec);
  EXPECT_THROW((void)running.hear(0, rank_says::json::object()), rank_says::json::exception);
  EXPECT_THROW((void)running.hear(0, {{"is", 7}}), rank_says::json::exception);
  EXPECT_THROW((void)running.hear(0, {{"is", "met"}, {"where", 5}, {"well", true}}), std::exception);
  EXPECT_THROW((void)running.hear(0, {{"is", "outcome"}, {"found", {}}, {"traffic", {}}}), rank_says::json::exception);
  EXPECT_THROW((void)running.hear(2, rank_says::beat(0, phase::combine)), std::exception);
  EXPECT_FALSE(running.is_heard(0));
}

TEST(supervised_case, outcomes_refusals_and_ends_are_all_that_is_heard_of_a_rank) {
  const auto spec = small_case(4);
  supervised_case running(spec);
  EXPECT_FALSE(running.hear(0, rank_says::beat(0, phase::dispatch)));
  EXPECT_FALSE(running.is_heard(0));
  EXPECT_FALSE(running.hear(0, rank_says::outcome(spec)));
  EXPECT_TRUE(running.is_heard(0));
  EXPECT_FALSE(running.any_refused());
  EXPECT_FALSE(running.hear(1, rank_says::refused(case_status::skipped, "too large")));
  EXPECT_TRUE(running.any_refused());
  EXPECT_FALSE(running.any_ended());
  running.note_end(2, "exited");
  EXPECT_TRUE(running.any_ended());
  EXPECT_FALSE(running.all_heard());
  running.note_end(3, "exited");
  EXPECT_TRUE(running.all_heard());
}

TEST(supervised_case, every_message_is_progress) {
  const auto spec = small_case(2);
  supervised_case running(spec);
  for (const auto& message : {rank_says::beat(0, phase::dispatch), rank_says::met(meeting_point::after_steps),
                              rank_says::off(meeting_point::after_steps), rank_says::outcome(spec)}) {
    const auto before = supervised_case::clock::now();
    (void)running.hear(0, message);
    EXPECT_GE(running.last_progress(), before);
  }
}

TEST(supervised_case, silent_ranks_are_named_with_their_place) {
  const auto spec = small_case(4);
  supervised_case running(spec);
  std::vector<bool> stopped(4);
  EXPECT_EQ(running.silent_ranks(stopped),
            "rank 0 in construction, rank 1 in construction, rank 2 in construction, rank 3 in construction");
  (void)running.hear(0, rank_says::beat(3, phase::combine));
  (void)running.hear(1, rank_says::outcome(spec));
  running.note_end(2, "exited");
  stopped[3] = true;
  EXPECT_EQ(running.silent_ranks(stopped),
            "rank 0 in combine of step 3, rank 3 in construction (its process is stopped)");
}

TEST(supervised_case, ranks_that_wait_for_others_at_a_meeting_are_not_the_silent_ones) {
  const auto spec = small_case(3);
  supervised_case running(spec);
  (void)running.hear(0, rank_says::met(meeting_point::before_construction));
  (void)running.hear(2, rank_says::met(meeting_point::before_construction));
  const std::vector<bool> stopped(3);
  EXPECT_EQ(running.silent_ranks(stopped), "rank 1 in construction");
  (void)running.hear(1, rank_says::met(meeting_point::before_construction));
  (void)running.hear(1, rank_says::beat(0, phase::dispatch));
  EXPECT_EQ(running.silent_ranks(stopped),
            "rank 0 in construction, rank 1 in dispatch of step 0, rank 2 in construction")
      << "that meeting is over";
}

TEST(supervised_case, a_process_is_to_end_only_once_its_rank_has_come_to_its_steps) {
  const auto spec = killed_case(3, 1, 2);
  supervised_case running(spec);
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "was killed by signal 9 (Killed)"));
  hold_meeting(running, 3, meeting_point::before_construction);
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "was killed by signal 9 (Killed)"));
  hold_meeting(running, 3, meeting_point::after_construction);
  EXPECT_TRUE(running.has_come_to_due_end(1, false, false, "was killed by signal 9 (Killed)"));
  EXPECT_FALSE(running.has_come_to_due_end(0, false, false, "was killed by signal 9 (Killed)"));
  EXPECT_FALSE(running.has_come_to_due_end(2, false, false, "was killed by signal 9 (Killed)"));
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "was killed by signal 11 (Segmentation fault)"));
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "exited"));
  EXPECT_FALSE(running.has_come_to_due_end(1, true, true, "")) << "it is to be killed, not stopped";
  EXPECT_FALSE(running.has_come_to_due_end(1, true, false, ""));
  EXPECT_TRUE(running.note_due_end(1).empty());
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "was killed by signal 9 (Killed)")) << "it has been noted";
  EXPECT_TRUE(running.is_heard(1));
  EXPECT_FALSE(running.any_ended());
}

TEST(supervised_case, no_process_is_to_end_by_faults_of_threads) {
  auto spec = killed_case(2, 1, 0);
  spec.inject->kind = fault_kind::stop;
  supervised_case running(spec);
  hold_meeting(running, 2, meeting_point::after_construction);
  EXPECT_FALSE(running.has_come_to_due_end(1, false, false, "was killed by signal 9 (Killed)"));
}

TEST(supervised_case, meetings_go_on_without_a_rank_that_was_to_end) {
  const auto spec = killed_case(3, 1, 2);
  supervised_case running(spec);
  hold_meeting(running, 3, meeting_point::before_construction);
  hold_meeting(running, 3, meeting_point::after_construction);
  (void)running.hear(0, rank_says::met(meeting_point::before_recovery));
  (void)running.hear(2, rank_says::met(meeting_point::before_recovery));
  (void)running.hear(0, rank_says::met(meeting_point::after_recovery));
  const auto ended = running.note_due_end(1);
  ASSERT_EQ(ended.size(), 1U) << "only it was missing there";
  EXPECT_EQ(ended[0].where, meeting_point::before_recovery);
  EXPECT_TRUE(ended[0].well);
  EXPECT_EQ(text_of_end(running.hear(2, rank_says::met(meeting_point::after_recovery))), "3 well");
  (void)running.hear(0, rank_says::met(meeting_point::after_steps));
  EXPECT_EQ(text_of_end(running.hear(2, rank_says::met(meeting_point::after_steps))), "4 well");
}

TEST(supervised_case, a_meeting_at_which_one_was_not_well_ends_so_without_the_missing_rank) {
  const auto spec = killed_case(2, 1, 0);
  supervised_case running(spec);
  hold_meeting(running, 2, meeting_point::after_construction);
  (void)running.hear(0, rank_says::met(meeting_point::before_recovery, false));
  (void)running.hear(1, rank_says::met(meeting_point::after_steps));
  const auto ended = running.note_due_end(1);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].where, meeting_point::before_recovery);
  EXPECT_FALSE(ended[0].well);
  EXPECT_EQ(text_of_end(running.hear(0, rank_says::met(meeting_point::after_steps))), "4 well") << "it had come before";
}

}  // namespace
}  // namespace switchyard::harness
