// SPDX-License-Identifier: Apache-2.0
// In place of mpi_job.cpp where MPI was not found.
#include "mpi_job.hpp"
#include "switchyard/harness/machine.hpp"

namespace switchyard::tools {

bool mpi_is_built() noexcept { return false; }

std::unique_ptr<mpi_job> join_mpi_job(std::chrono::nanoseconds) {
  throw harness::environment_error("--launch mpi: this build has no MPI; --launch env needs none");
}

}  // namespace switchyard::tools
