// SPDX-License-Identifier: Apache-2.0
// Ranks of one GPU that recover.
#include <ostream>
#include <string>

#include "recovery_steps.hpp"

namespace switchyard {
namespace {

using test::launch_by;

struct way {
  choice lamport;
  launch_by by;
  [[nodiscard]] std::string name() const {
    return std::string(lamport == choice::off ? "fence" : "lamport") + (by == launch_by::call ? "_eager" : "_graph");
  }
  friend void PrintTo(const way& which, std::ostream* out) { *out << which.name(); }
};

class gpu_recover : public test::gpu_test<1>, public testing::WithParamInterface<way> {};

TEST_P(gpu_recover, makes_every_later_step_exact_after_each_kind_of_fault) {
  test::expect_recovery_from_every_fault(1, 3, GetParam().lamport, GetParam().by);
}

TEST_P(gpu_recover, survivors_go_on_and_the_rank_that_slept_comes_back) {
  test::expect_survivors_to_go_on(1, 3, GetParam().lamport, GetParam().by);
}

TEST_P(gpu_recover, a_zombie_haunts_old_memory_only) {
  test::expect_a_zombie_to_haunt_old_memory_only(1, GetParam().lamport, GetParam().by);
}

INSTANTIATE_TEST_SUITE_P(by, gpu_recover,
                         testing::Values(way{choice::off, launch_by::call}, way{choice::off, launch_by::graph},
                                         way{choice::on, launch_by::call}, way{choice::on, launch_by::graph}),
                         [](const auto& of) { return of.param.name(); });

class gpu_recover_by : public test::gpu_test<1>, public testing::WithParamInterface<choice> {};

// Of calls: in graphs there is one step, which all have captured.
TEST_P(gpu_recover_by, drawn_sequences_of_calls_leave_no_trace) {
  test::expect_drawn_sequences_to_leave_no_trace(1, 3, GetParam(), 20);
}

TEST_P(gpu_recover_by, replays_of_two_ranks_are_exact_after_each_kind_of_fault) {
  test::expect_recovery_from_every_fault(1, 2, GetParam(), launch_by::graph);
}

INSTANTIATE_TEST_SUITE_P(transports, gpu_recover_by, testing::Values(choice::off, choice::on),
                         [](const auto& of) { return std::string(of.param == choice::off ? "fence" : "lamport"); });

class gpu_recover_once : public test::gpu_test<1> {};

TEST_F(gpu_recover_once, a_stuck_rank_is_named_and_done_without) { test::expect_a_stuck_rank_to_be_named(1); }

TEST_F(gpu_recover_once, fifty_recoveries_leave_no_memory_and_no_descriptor) {
  test::expect_recoveries_to_leave_nothing(1, 3, 50);
}

}  // namespace
}  // namespace switchyard
