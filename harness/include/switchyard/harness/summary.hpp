// SPDX-License-Identifier: Apache-2.0
// What a run came to, scenario by scenario: for the table at the end and for the summary file.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/must_pass.hpp"
#include "switchyard/stream.hpp"

namespace switchyard::harness {

/// The cases of one scenario.
struct summary_row {
  std::string suite;
  std::string scenario;
  run_outcome outcome;
  std::uint64_t checked_bytes = 0;
  std::uint64_t remote_bytes = 0;
  std::optional<std::int64_t> worst_dispatch_ns;  ///< largest of all steps; none: no step ended
  std::optional<std::int64_t> worst_combine_ns;
};

struct judged_list {
  must_pass_list list;
  std::vector<must_pass_shortfall> shortfalls;  ///< empty: nothing is wrong
};

class run_summary {
 public:
  void add(const case_spec& spec, const case_result& result);
  /// A case that was chosen and has no result.
  void add_missing(const case_spec& spec);
  void set_internal_error() noexcept { outcome_.internal_error = true; }
  /// No case was to be run: the run is one shard of a run with fewer cases than shards.
  void set_empty_shard() noexcept { outcome_.empty_shard = true; }
  /// Where the ranks ran, which says what the times mean; the host fabric unless said otherwise.
  void set_fabric(fabric_kind kind) noexcept { fabric_ = kind; }
  [[nodiscard]] fabric_kind fabric() const noexcept { return fabric_; }
  /// A list of cases that must pass was judged.
  void add_must_pass(const must_pass_list& list, std::vector<must_pass_shortfall> shortfalls);

  [[nodiscard]] const run_outcome& outcome() const noexcept { return outcome_; }
  [[nodiscard]] const std::vector<summary_row>& rows() const noexcept { return rows_; }
  [[nodiscard]] exit_code code() const noexcept { return exit_code_of(outcome_); }
  /// Ids of the cases that did not pass, with their status, in the order of the run.
  [[nodiscard]] const std::vector<std::pair<std::string, case_status>>& not_passed() const noexcept {
    return not_passed_;
  }
  /// What each list that was judged lacks, in the order of judging.
  [[nodiscard]] const std::vector<judged_list>& must_pass() const noexcept { return must_pass_; }

 private:
  summary_row& row_of(const case_spec& spec);
  void count(const case_spec& spec, case_status status);

  run_outcome outcome_;
  fabric_kind fabric_ = fabric_kind::host;
  std::vector<summary_row> rows_;
  std::vector<std::pair<std::string, case_status>> not_passed_;
  std::vector<judged_list> must_pass_;
};

/// The summary file: schema, counts, rows, cases that did not pass, exit code; times stand under "time".
nlohmann::ordered_json to_json(const run_summary& summary, std::uint64_t seed);

/// One line per scenario, columns only for the statuses that occur. The last line says what times mean.
void print_table(std::ostream& out, const run_summary& summary);

/// "12.3 us", "4.56 GB": three digits and a unit, decimal.
std::string duration_text(std::int64_t time_ns);
std::string bytes_text(std::uint64_t bytes);

}  // namespace switchyard::harness
