// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a run live: threads of this process, or processes that it supervises.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "run_options.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/rank_process.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/suite_runner.hpp"

namespace switchyard::tools {

/// Ranks that can be given cases, one after another; all of them end with this.
class launched_ranks {
 public:
  launched_ranks() = default;
  virtual ~launched_ranks() = default;
  launched_ranks(const launched_ranks&) = delete;
  launched_ranks& operator=(const launched_ranks&) = delete;

  [[nodiscard]] virtual harness::fabric_description fabric() const = 0;
  /// For the header of the records; null where ranks are threads.
  [[nodiscard]] virtual nlohmann::ordered_json description() const = 0;
  virtual harness::case_result run(const harness::case_spec& spec) = 0;
};

/// Starts what the options ask for. Null in a process of a job that is not rank 0's: it has served as an agent until
/// the run was over. Throws input_error, environment_error, out_of_memory.
std::unique_ptr<launched_ranks> launch_ranks(const run_command_options& options,
                                             const std::vector<harness::case_spec>& cases,
                                             const harness::environment& where);

/// How ranks are launched where nobody says: by the launcher that has started several of this program, else as threads.
/// Throws input_error where its variables contradict themselves.
launch_kind launch_of_this_process();

/// Lives as the rank that this process has been started for.
harness::exit_code serve(const harness::rank_process_place& place, const run_command_options& options,
                         const std::vector<harness::case_spec>& cases);

}  // namespace switchyard::tools
