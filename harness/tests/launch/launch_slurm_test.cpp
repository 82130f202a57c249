// SPDX-License-Identifier: Apache-2.0
// Steps of Slurm: what counts as one, and what its lists say.
#include <gtest/gtest.h>

#include <set>

#include "variables.hpp"

namespace switchyard::harness {
namespace {

TEST(launch_slurm, a_batch_script_is_no_task_of_a_step) {
  EXPECT_EQ(told(batch_script), "none");
  // As PyTorch's examples have it: exported for the steps to come.
  EXPECT_EQ(told(with(batch_script, {{"MASTER_ADDR", "tray01"}, {"MASTER_PORT", "29500"}})), "none");
}

TEST(launch_slurm, reserved_steps_are_no_steps_of_srun) {
  const auto step = [](const char* id) { return with(slurm, {{"SLURM_STEP_ID", id}, {"SLURM_STEPID", id}}); };
  EXPECT_EQ(told(step("4294967290")), "none");  // the shell of salloc, SLURM_INTERACTIVE_STEP
  EXPECT_EQ(told(step("4294967291")), "none");  // SLURM_BATCH_SCRIPT
  EXPECT_EQ(told(step("4294967280")), "slurm 6/8 2/4 tray07:25534 1234.4294967280");  // the last of srun's
}

TEST(launch_slurm, old_names_are_read) {
  const auto old = with(slurm, {{"SLURM_STEP_ID", unset},
                                {"SLURM_JOB_ID", unset},
                                {"SLURM_STEP_NUM_TASKS", unset},
                                {"SLURM_STEP_NODELIST", unset},
                                {"SLURM_STEP_TASKS_PER_NODE", unset},
                                {"SLURM_NTASKS_PER_NODE", "4"}});
  EXPECT_EQ(told(old), "slurm 6/8 2/4 tray01:28254 1234.0");
}

TEST(launch_slurm, a_rack_is_read) {
  const auto rack = with(slurm, {{"SLURM_PROCID", "71"},
                                 {"SLURM_STEP_NUM_TASKS", "72"},
                                 {"SLURM_LOCALID", "3"},
                                 {"SLURM_NODEID", "17"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "4(x18)"},
                                 {"SLURM_STEP_NODELIST", "rack1-tray[001-018]"}});
  EXPECT_EQ(told(rack), "slurm 71/72 3/4 rack1-tray001:28254 1234.0");
}

TEST(launch_slurm, nodes_with_different_numbers_of_tasks_are_told_apart) {
  const auto uneven = with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", "2,3(x2)"}});
  EXPECT_EQ(told(with(uneven, {{"SLURM_NODEID", "2"}})), "slurm 6/8 2/3 tray07:28254 1234.0");
  EXPECT_EQ(refusal_of(with(uneven, {{"SLURM_NODEID", "0"}})),
            "SLURM_LOCALID: 2: must be less than SLURM_STEP_TASKS_PER_NODE, which is 2");
  EXPECT_EQ(refusal_of(with(uneven, {{"SLURM_NODEID", "3"}})), "SLURM_NODEID: 3: must be an integer from 0 to 2");
  EXPECT_EQ(refusal_of(with(uneven, {{"SLURM_NODEID", unset}})),
            "SLURM_NODEID: not set: must say which entry of SLURM_STEP_TASKS_PER_NODE is this node's");
}

TEST(launch_slurm, what_contradicts_itself_is_refused) {
  const auto refused = [](const variables& change) { return refusal_of(with(slurm, change)); };
  EXPECT_EQ(refused({{"SLURM_STEP_TASKS_PER_NODE", "4(x3)"}}),
            "SLURM_STEP_TASKS_PER_NODE: 4(x3): must add up to SLURM_STEP_NUM_TASKS, which is 8");
  EXPECT_EQ(refused({{"SLURM_STEP_TASKS_PER_NODE", "4x2"}}),
            "SLURM_STEP_TASKS_PER_NODE: 4x2: must be a Slurm list of tasks such as 4(x18) or 2,1(x3), of at most 256 "
            "in all");
  EXPECT_EQ(refused({{"SLURM_STEP_NODELIST", "tray[07-06]"}}),
            "SLURM_STEP_NODELIST: tray[07-06]: must be a Slurm host list such as tray[01-18] or a[3,5-7],b1");
  EXPECT_EQ(refused({{"SLURM_STEP_NODELIST", unset}, {"SLURM_NODELIST", unset}}),
            "SLURM_STEP_NODELIST: not set: must say which hosts the step has, or MASTER_ADDR where rank 0 is");
  EXPECT_EQ(refused({{"SLURM_STEP_NUM_TASKS", "1152"}}),
            "SLURM_STEP_NUM_TASKS: 1152: must be an integer from 1 to 256");
  EXPECT_EQ(refused({{"SLURM_PROCID", "8"}}), "SLURM_PROCID: 8: must be less than SLURM_STEP_NUM_TASKS, which is 8");
  EXPECT_EQ(refused({{"SLURM_PROCID", unset}}), "SLURM_PROCID: not set: must be set where SLURM_STEP_NUM_TASKS is");
  EXPECT_EQ(refused({{"SLURM_JOB_ID", unset}, {"SLURM_JOBID", unset}}),
            "SLURM_JOB_ID: not set: must be set where SLURM_STEP_ID is");
  EXPECT_EQ(refused({{"SLURM_STEP_ID", "batch"}}), "SLURM_STEP_ID: batch: must be an integer from 0 to 4294967295");
  EXPECT_EQ(refused({{"SLURM_LOCALID", unset}}).substr(0, 40), "SLURM_LOCALID: not set: must be set for ");
  EXPECT_EQ(refused({{"SLURM_STEP_TASKS_PER_NODE", unset}}).substr(0, 48),
            "SLURM_NTASKS_PER_NODE: not set: must be set for ");
}

TEST(launch_slurm, ports_of_neighbours_differ) {
  std::set<std::uint16_t> ports;
  constexpr std::uint32_t jobs = 100;
  constexpr std::uint32_t steps = 31;
  for (std::uint32_t job = 1; job <= jobs; ++job) {
    for (std::uint32_t step = 0; step < steps; ++step) ports.insert(slurm_port(8'000'000 + job, step));
  }
  EXPECT_EQ(ports.size(), std::size_t{jobs} * steps);
  EXPECT_GE(*ports.begin(), 20000);
  EXPECT_LT(*ports.rbegin(), 30000);
  EXPECT_EQ(slurm_port(UINT32_MAX, UINT32_MAX), 20000 + (32ULL * UINT32_MAX) % 10000);
}

}  // namespace
}  // namespace switchyard::harness
