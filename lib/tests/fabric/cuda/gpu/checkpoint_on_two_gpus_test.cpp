// SPDX-License-Identifier: Apache-2.0
// Ranks on two GPUs that give their memory back for a checkpoint.
#include <string>

#include "checkpoint_steps.hpp"

namespace switchyard {
namespace {

using test::launch_by;

class two_gpu_checkpoint : public test::gpu_test<2>, public testing::WithParamInterface<choice> {};

TEST_P(two_gpu_checkpoint, calls_are_exact_behind_it) {
  test::expect_checkpoints_to_be_exact(2, 2, GetParam(), launch_by::call, 5);
}

TEST_P(two_gpu_checkpoint, graphs_replay_exactly_behind_a_hundred) {
  test::expect_checkpoints_to_be_exact(2, 2, GetParam(), launch_by::graph, 100);
}

TEST_P(two_gpu_checkpoint, may_come_among_recoveries_and_keeps_the_mask) {
  test::expect_checkpoints_among_recoveries(2, 4, GetParam());
}

INSTANTIATE_TEST_SUITE_P(transports, two_gpu_checkpoint, testing::Values(choice::off, choice::on),
                         [](const auto& of) { return std::string(of.param == choice::off ? "fence" : "lamport"); });

class two_gpu_checkpoint_once : public test::gpu_test<2> {};

TEST_F(two_gpu_checkpoint_once, memory_leaves_and_returns) { test::expect_memory_to_leave_and_return(2, 4); }

TEST_F(two_gpu_checkpoint_once, sixty_layers_share_a_workspace) { test::expect_layers_to_share(2, 2); }

}  // namespace
}  // namespace switchyard
