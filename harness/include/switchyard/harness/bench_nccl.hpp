// SPDX-License-Identifier: Apache-2.0
// Measuring the NCCL yardsticks. NCCL is loaded when it is asked for, never linked: a program built here starts where
// there is none.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "switchyard/harness/bench_run.hpp"
#include "switchyard/harness/bench_yardstick.hpp"

namespace switchyard::harness {

class nccl_observer {
 public:
  virtual ~nccl_observer() = default;
  virtual void note(const std::string& line) = 0;
  virtual void nccl_found(const nccl_library& used) = 0;
  virtual void measured(const nccl_measurement& one) = 0;
};

/// Measures every scheme and kind of memory at every point, in this process and so with one value of
/// NCCL_GRAPH_MIXING_SUPPORT, which is taken from the environment (1 where it is not set). Tells the library first; its
/// `version` is empty when NCCL cannot be had, and then nothing follows. A variant whose result is wrong, or that NCCL
/// refuses, is told with its failure. `library_file`: empty looks where the system and the build say.
/// Precondition: bench_support(options.ranks).
void run_nccl_yardsticks(const bench_options& options, const std::string& library_file, nccl_observer& observer);

/// Measures with graph mixing 1 and 0 by running `command` twice, a program that calls run_nccl_yardsticks and prints
/// what it hears as JSON lines (see bench_record.hpp); other lines are ignored. A program that is silent for `patience`
/// is killed. What was told before a failure is kept, the failure is noted. Returns the library; its `why_not` says why
/// a run broke off.
nccl_library collect_nccl_yardsticks(const std::vector<std::string>& command, std::chrono::seconds patience,
                                     nccl_observer& observer);

}  // namespace switchyard::harness
