// SPDX-License-Identifier: Apache-2.0
// What comes after a run of drawn cases: its first failures are made small and written as scenario files. The run
// itself is one like any other (suite_runner.hpp), with the cases of draw_cases().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "switchyard/harness/run_observer.hpp"
#include "switchyard/harness/shrink.hpp"
#include "switchyard/harness/suite_runner.hpp"

namespace switchyard::harness {

/// Remembers the first failures of a run. Cases that an earlier run has recorded are left out.
class failure_collector final : public run_observer {
 public:
  struct failure {
    case_spec spec;
    std::string kind;  ///< failure_kind() of its result
  };

  explicit failure_collector(std::size_t most) : most_(most) {}

  void case_ended(const case_spec& spec, const case_result& result, const case_record& record) override;

  [[nodiscard]] const std::vector<failure>& first() const noexcept { return first_; }
  [[nodiscard]] std::size_t total() const noexcept { return total_; }

 private:
  std::size_t most_;
  std::size_t total_ = 0;
  std::vector<failure> first_;
};

struct make_small_options {
  std::uint64_t seed = 1;                     ///< of the run
  std::size_t max_runs = 300;                 ///< of one failure
  std::chrono::seconds max_time{120};         ///< for one failure; a case that hangs takes its deadline each time
  std::function<bool()> stop_requested = {};  ///< asked before each run of a case
};

/// A failure, small.
struct small_failure {
  std::string drawn_id;
  std::string kind;  ///< of the drawn case, and of the small one
  shrunk_case small;
  std::string file_name;  ///< shrunk_<a digest of drawn_id>.json
  std::string file_text;  ///< a whole scenario file, which fails with the seed of the run
};

/// Precondition: the failure is one of a drawn case. `run` may throw out_of_memory for cases that need more than drawn
/// ones; they are passed over.
small_failure make_small(const failure_collector::failure& found, const case_runner& run,
                         const make_small_options& options);

/// What a person is told about a small failure: how it fails, how surely, and its id.
std::string describe(const small_failure& failure);

}  // namespace switchyard::harness
