// SPDX-License-Identifier: Apache-2.0
// This process in the job of mpirun, or of srun with an MPI plugin, and where its rank 0 listens: MPI is asked for that
// and for nothing else.
#pragma once

#include <chrono>
#include <memory>

#include "switchyard/harness/launch_environment.hpp"

namespace switchyard::tools {

/// Initialises MPI, and finalises it at its end, which waits for the processes of the job.
class mpi_job {
 public:
  mpi_job() = default;
  virtual ~mpi_job() = default;
  mpi_job(const mpi_job&) = delete;
  mpi_job& operator=(const mpi_job&) = delete;

  [[nodiscard]] virtual const harness::launched_process& place() const = 0;
  /// Of rank 0: a listening socket at the place's port, to be taken once.
  [[nodiscard]] virtual int take_listener() = 0;
};

/// Whether this program has been built with MPI.
bool mpi_is_built() noexcept;

/// Collective over the job. Throws environment_error where MPI is not built in, does not start, or processes do not
/// come within the limit.
std::unique_ptr<mpi_job> join_mpi_job(std::chrono::nanoseconds limit);

}  // namespace switchyard::tools
