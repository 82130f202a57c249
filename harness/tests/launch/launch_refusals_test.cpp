// SPDX-License-Identifier: Apache-2.0
// What contradicts itself is refused: a message names the variable, its value and the rule.
#include <gtest/gtest.h>

#include <vector>

#include "variables.hpp"

namespace switchyard::harness {
namespace {

struct refused_change {
  variables change;
  std::string message;
};

void expect_refusals(const variables& base, const std::vector<refused_change>& cases) {
  for (const auto& refused : cases) {
    const auto message = refusal_of(with(base, refused.change));
    EXPECT_EQ(message.substr(0, refused.message.size()), refused.message) << message;
  }
}

TEST(launch_refusals, ranks_and_sizes) {
  expect_refusals(
      torchrun,
      {{{{"WORLD_SIZE", unset}}, "WORLD_SIZE: not set: must be set where RANK is"},
       {{{"RANK", unset}}, "RANK: not set: must be set where WORLD_SIZE is"},
       {{{"RANK", "8"}}, "RANK: 8: must be less than WORLD_SIZE, which is 8"},
       {{{"WORLD_SIZE", "0"}}, "WORLD_SIZE: 0: must be an integer from 1 to 256"},
       {{{"WORLD_SIZE", "257"}}, "WORLD_SIZE: 257: must be an integer from 1 to 256"},
       {{{"LOCAL_RANK", "4"}}, "LOCAL_RANK: 4: must be less than LOCAL_WORLD_SIZE, which is 4"},
       {{{"LOCAL_WORLD_SIZE", "9"}}, "LOCAL_WORLD_SIZE: 9: must be at most WORLD_SIZE, which is 8"},
       {{{"LOCAL_WORLD_SIZE", "0"}}, "LOCAL_WORLD_SIZE: 0: must be an integer from 1 to "},
       {{{"LOCAL_RANK", unset}},
        "LOCAL_RANK: not set: must be set for a job of 8 processes, for LOCAL_RANK says which of the LOCAL_WORLD_SIZE "
        "processes of its host this one is"},
       {{{"LOCAL_WORLD_SIZE", unset}}, "LOCAL_WORLD_SIZE: not set: must be set for a job of 8 processes"},
       {{{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "LOCAL_WORLD_SIZE: 4: must be at most WORLD_SIZE, which is 1"},
       {{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_WORLD_SIZE", unset}},
        "LOCAL_RANK: 2: must be less than LOCAL_WORLD_SIZE, which is 1"}});
}

TEST(launch_refusals, numbers) {
  const std::string rule = ": must be an integer from 0 to 4294967295";
  for (const std::string text :
       {"-1", "+1", "06", "0x6", "6 ", " 6", "six", "6.0", "4294967296", "99999999999999999999"}) {
    EXPECT_EQ(refusal_of(with(torchrun, {{"RANK", text}})), "RANK: " + text + rule);
  }
  EXPECT_EQ(refusal_of(with(torchrun, {{"RANK", ""}})), "RANK: empty" + rule);
  EXPECT_EQ(refusal_of(with(torchrun, {{"RANK", "6\n"}})), "RANK: 6\\n" + rule);
  EXPECT_EQ(refusal_of(with(torchrun, {{"RANK", std::string(1000, '1')}})),
            "RANK: " + std::string(60, '1') + "..." + rule);
}

TEST(launch_refusals, rendezvous) {
  expect_refusals(torchrun, {{{{"MASTER_ADDR", unset}}, "MASTER_ADDR: not set: must be set beside RANK"},
                             {{{"MASTER_PORT", unset}}, "MASTER_PORT: not set: must be set beside RANK"},
                             {{{"MASTER_ADDR", unset}, {"MASTER_PORT", unset}}, "MASTER_ADDR: not set: must be set"},
                             {{{"MASTER_PORT", "0"}}, "MASTER_PORT: 0: must be an integer from 1 to 65535"},
                             {{{"MASTER_PORT", "65536"}}, "MASTER_PORT: 65536: must be an integer from 1 to 65535"},
                             {{{"MASTER_ADDR", ""}}, "MASTER_ADDR: empty: must be a name or an address"},
                             {{{"MASTER_ADDR", "h0 h1"}}, "MASTER_ADDR: h0 h1: must be a name or an address"},
                             {{{"MASTER_ADDR", "h\xc3\xa4"}}, "MASTER_ADDR: h\xc3\xa4: must be a name or an address"},
                             {{{"MASTER_PORT", "65535"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
                              "MASTER_PORT: 65535: must be less than 65535"}});
  expect_refusals({{"RANK", "0"}, {"WORLD_SIZE", "1"}},
                  {{{{"MASTER_ADDR", "h0"}}, "MASTER_PORT: not set: must be set beside RANK"}});
  const std::string both = ": not set: MASTER_ADDR and MASTER_PORT must both be set, or neither, beside ";
  expect_refusals(open_mpi, {{{{"MASTER_ADDR", "h0"}}, "MASTER_PORT" + both + "OMPI_COMM_WORLD_RANK"}});
  expect_refusals(hydra, {{{{"MASTER_PORT", "7"}}, "MASTER_ADDR" + both + "PMI_RANK"}});
}

TEST(launch_refusals, mpi) {
  expect_refusals(
      open_mpi,
      {{{{"OMPI_COMM_WORLD_SIZE", unset}}, "OMPI_COMM_WORLD_SIZE: not set: must be set where OMPI_COMM_WORLD_RANK is"},
       {{{"OMPI_COMM_WORLD_RANK", unset}}, "OMPI_COMM_WORLD_RANK: not set: must be set where OMPI_COMM_WORLD_SIZE is"},
       {{{"OMPI_COMM_WORLD_SIZE", "300"}}, "OMPI_COMM_WORLD_SIZE: 300: must be an integer from 1 to 256"},
       {{{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}, "OMPI_COMM_WORLD_LOCAL_RANK: 2: must be less than"}});
  expect_refusals(hydra, {{{{"PMI_SIZE", unset}}, "PMI_SIZE: not set: must be set where PMI_RANK is"},
                          {{{"PMI_RANK", unset}}, "PMI_RANK: not set: must be set where PMI_SIZE is"},
                          {{{"MPI_LOCALRANKID", unset}}, "MPI_LOCALRANKID: not set: must be set for a job of 8"},
                          {{{"MPI_LOCALNRANKS", unset}}, "MPI_LOCALNRANKS: not set: must be set for a job of 8"}});
}

TEST(launch_refusals, pmix_tells_no_size) {
  const std::string rule = ": tells no number of processes, and no Slurm step tells it for this rank: set RANK";
  expect_refusals({{"PMIX_RANK", "3"}}, {{{}, "PMIX_RANK: 3" + rule}});
  expect_refusals(slurm, {{{{"PMIX_RANK", "3"}}, "PMIX_RANK: 3" + rule}});
  expect_refusals(batch_script, {{{{"PMIX_RANK", "0"}}, "PMIX_RANK: 0" + rule}});
}

TEST(launch_refusals, launchers_that_disagree) {
  expect_refusals(
      slurm,
      {{{{"WORLD_SIZE", "4"}},
        "WORLD_SIZE: 4: must be the number of processes that slurm tells, which is 8, or RANK must be set too"},
       {{{"WORLD_SIZE", "all"}}, "WORLD_SIZE: all: must be the number of processes that slurm tells"},
       // PMI of a rank that the step does not know: it would have to say how many processes share the host.
       {{{"PMI_RANK", "1"}, {"PMI_SIZE", "8"}}, "MPI_LOCALRANKID: not set: must be set for a job of 8 processes"},
       {{{"RANK", "6"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "0"}},
        "LOCAL_RANK: 0: must be SLURM_LOCALID, which is 2, or LOCAL_WORLD_SIZE must be set too"}});
}

}  // namespace
}  // namespace switchyard::harness
