// SPDX-License-Identifier: Apache-2.0
// Ranks of two GPUs that recover: memory of another GPU is replaced.
#include "recovery_steps.hpp"

namespace switchyard {
namespace {

using test::launch_by;

class two_gpus_recover : public test::gpu_test<2>, public testing::WithParamInterface<choice> {};

TEST_P(two_gpus_recover, makes_every_later_step_exact_after_each_kind_of_fault) {
  for (const auto by : {launch_by::call, launch_by::graph}) {
    for (const int ranks : {2, 4}) test::expect_recovery_from_every_fault(2, ranks, GetParam(), by);
  }
}

TEST_P(two_gpus_recover, survivors_go_on_and_the_rank_that_slept_comes_back) {
  test::expect_survivors_to_go_on(2, 4, GetParam(), launch_by::call);
  test::expect_survivors_to_go_on(2, 2, GetParam(), launch_by::graph);  // one rank goes on alone
}

TEST_P(two_gpus_recover, a_zombie_haunts_old_memory_only) {
  for (const auto by : {launch_by::call, launch_by::graph}) {
    test::expect_a_zombie_to_haunt_old_memory_only(2, GetParam(), by);
  }
}

TEST_P(two_gpus_recover, fifty_drawn_sequences_leave_no_trace) {
  test::expect_drawn_sequences_to_leave_no_trace(2, 2, GetParam(), 25);
  test::expect_drawn_sequences_to_leave_no_trace(2, 4, GetParam(), 25);
}

INSTANTIATE_TEST_SUITE_P(by, two_gpus_recover, testing::Values(choice::off, choice::on),
                         [](const auto& of) { return std::string(of.param == choice::off ? "fence" : "lamport"); });

class two_gpus_recover_once : public test::gpu_test<2> {};

TEST_F(two_gpus_recover_once, a_stuck_rank_is_named_and_done_without) { test::expect_a_stuck_rank_to_be_named(2); }

TEST_F(two_gpus_recover_once, fifty_recoveries_leave_no_memory_and_no_descriptor) {
  test::expect_recoveries_to_leave_nothing(2, 2, 50);
}

}  // namespace
}  // namespace switchyard
