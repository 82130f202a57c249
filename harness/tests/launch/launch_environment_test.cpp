// SPDX-License-Identifier: Apache-2.0
// Who answers, and what.
#include <gtest/gtest.h>

#include <cstdlib>

#include "variables.hpp"

namespace switchyard::harness {
namespace {

TEST(launch_environment, nothing_is_seen_without_a_launcher) {
  EXPECT_EQ(told(variables{}), "none");
  EXPECT_EQ(told({{"PATH", "/bin"}, {"LOCAL_RANK", "3"}, {"MASTER_ADDR", "h0"}, {"SLURM_JOB_ID", "7"}}), "none");
}

TEST(launch_environment, each_launcher_is_read) {
  EXPECT_EQ(told(torchrun), "torchrun 6/8 2/4 h0:29500 night");
  EXPECT_EQ(told(with(torchrun, {{"TORCHELASTIC_RUN_ID", unset}})), "variables 6/8 2/4 h0:29500 ");
  EXPECT_EQ(told(open_mpi), "open-mpi 6/8 2/4 :0 prterun-h0-77@1");
  EXPECT_EQ(told(hydra), "pmi 6/8 2/4 :0 ");
  EXPECT_EQ(told(slurm), slurm_told);
}

TEST(launch_environment, a_job_of_one_needs_neither_place_nor_local_rank) {
  EXPECT_EQ(told({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "variables 0/1 0/1 :0 ");
  EXPECT_EQ(told({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "open-mpi 0/1 0/1 :0 ");
  EXPECT_EQ(told({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "pmi 0/1 0/1 :0 ");
}

TEST(launch_environment, the_largest_group_is_read) {
  const auto largest = with(torchrun, {{"RANK", "255"}, {"WORLD_SIZE", "256"}, {"LOCAL_WORLD_SIZE", "256"}});
  EXPECT_EQ(told(largest), "torchrun 255/256 2/256 h0:29500 night");
}

TEST(launch_environment, a_launcher_inside_a_slurm_step_answers_before_it) {
  // One task a node: the step's processes are the launchers' own.
  const auto agents = with(slurm, {{"SLURM_PROCID", "1"},
                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                   {"SLURM_NTASKS", "2"},
                                   {"SLURM_LOCALID", "0"},
                                   {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
  EXPECT_EQ(told(with(agents, torchrun)), told(torchrun));
  EXPECT_EQ(told(with(agents, open_mpi)), told(open_mpi));
  EXPECT_EQ(told(with(agents, hydra)), told(hydra));
}

TEST(launch_environment, hydra_answers_before_a_step_of_the_same_shape) {
  const auto step =
      with(slurm, {{"SLURM_LOCALID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "1(x8)"}, {"SLURM_NODEID", "6"}});
  EXPECT_EQ(told(with(step, hydra)), told(hydra));
}

TEST(launch_environment, rank_answers_before_mpi_and_open_mpi_before_pmi) {
  const auto rank = with(torchrun, {{"RANK", "5"}, {"LOCAL_RANK", "1"}});
  EXPECT_EQ(told(with(with(open_mpi, hydra), rank)), told(rank));
  EXPECT_EQ(told(with(open_mpi, with(hydra, {{"PMI_RANK", "3"}}))), told(open_mpi));
}

TEST(launch_environment, what_does_not_answer_is_not_looked_at) {
  const auto broken = with(slurm, {{"SLURM_STEP_NUM_TASKS", "many"}, {"SLURM_STEP_NODELIST", "]["}});
  EXPECT_EQ(told(with(broken, torchrun)), told(torchrun));
  EXPECT_EQ(told(with(broken, hydra)), told(hydra));
}

TEST(launch_environment, a_step_that_repeats_itself_answers) {
  // srun --mpi=pmi2 and --mpi=pmix.
  EXPECT_EQ(told(with(slurm, {{"PMI_RANK", "6"}, {"PMI_SIZE", "8"}, {"PMI_JOBID", "1234.0"}})), slurm_told);
  EXPECT_EQ(told(with(slurm, {{"PMIX_RANK", "6"}, {"PMIX_NAMESPACE", "slurm.pmix.1234.0"}})), slurm_told);
  // A PyTorch container of enroot, whose hook 50-slurm-pytorch.sh tells no LOCAL_WORLD_SIZE.
  const variables hook{
      {"RANK", "6"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "2"}, {"MASTER_ADDR", "tray07"}, {"MASTER_PORT", "62234"}};
  EXPECT_EQ(told(with(slurm, hook)), "slurm 6/8 2/4 tray07:62234 1234.0");
  // Whoever tells all four is believed.
  EXPECT_EQ(told(with(with(slurm, hook), {{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}})),
            "variables 6/8 0/1 tray07:62234 ");
}

TEST(launch_environment, master_variables_take_the_place_of_other_rendezvous) {
  const variables elsewhere{{"MASTER_ADDR", "fe80::1%eth0"}, {"MASTER_PORT", "65535"}};
  EXPECT_EQ(told(with(slurm, elsewhere)), "slurm 6/8 2/4 fe80::1%eth0:65535 1234.0");
  EXPECT_EQ(told(with(open_mpi, elsewhere)), "open-mpi 6/8 2/4 fe80::1%eth0:65535 prterun-h0-77@1");
  EXPECT_EQ(told(with(slurm, {{"MASTER_PORT", "1"}})), "slurm 6/8 2/4 tray07:1 1234.0");
  EXPECT_EQ(told(with(slurm, {{"MASTER_ADDR", "ib07"}})), "slurm 6/8 2/4 ib07:28254 1234.0");
  // Then the list of hosts is not needed.
  EXPECT_EQ(told(with(slurm, {{"MASTER_ADDR", "ib07"}, {"SLURM_STEP_NODELIST", "bgl[000x733]"}})),
            "slurm 6/8 2/4 ib07:28254 1234.0");
}

TEST(launch_environment, the_port_of_torchruns_own_store_is_left_to_it) {
  EXPECT_EQ(find_in(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->port, 29501);
  EXPECT_EQ(find_in(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->port, 29500);
}

TEST(launch_environment, world_size_without_rank_may_repeat_another_launcher) {
  EXPECT_EQ(told(with(slurm, {{"WORLD_SIZE", "8"}})), slurm_told);
  EXPECT_EQ(told(with(open_mpi, {{"WORLD_SIZE", "8"}})), told(open_mpi));
}

TEST(launch_environment, the_process_environment_is_read) {
  for (const auto& [name, value] : torchrun) ASSERT_EQ(::setenv(name.c_str(), value.c_str(), 1), 0);
  const auto process = find_launched_process();
  for (const auto& [name, value] : torchrun) ASSERT_EQ(::unsetenv(name.c_str()), 0);
  EXPECT_EQ(told(process), told(torchrun));
}

}  // namespace
}  // namespace switchyard::harness
