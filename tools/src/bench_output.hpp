// SPDX-License-Identifier: Apache-2.0
// Where a bench's lines and tables go.
#pragma once

#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/bench_crossover.hpp"
#include "switchyard/harness/bench_nccl.hpp"
#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/bench_variants.hpp"

namespace switchyard::tools {

/// JSON lines in a file, each out as it comes, so that what was measured before a failure is kept. Throws input_error
/// when the file cannot be written. An empty path: nothing is written.
class line_file {
 public:
  explicit line_file(const std::string& path);
  void write(const nlohmann::ordered_json& record);

 private:
  void check() const;

  std::string path_;
  std::ofstream file_;
};

/// Progress to standard error, lines to the file, tables to standard output.
class bench_output final : public harness::bench_observer, public harness::nccl_observer {
 public:
  bench_output(const harness::bench_options& options, const harness::extra_rates& rates, const std::string& path);

  void note(const std::string& line) override;
  void machine(const harness::bench_machine& where) override;
  void link(const harness::link_yardstick& measured) override;
  void point(const harness::bench_point& measured) override;
  void nccl_found(const harness::nccl_library& used) override;
  void measured(const harness::nccl_measurement& one) override;
  /// Which yardstick was the fastest, all of it as tables, and what the grid comes to.
  void conclude();

 private:
  const harness::bench_options& options_;
  harness::extra_rates rates_;
  line_file file_;
  /// Those by auto where it was measured, else by the first transport: one a count of tokens.
  [[nodiscard]] std::vector<harness::bench_point> compared_points() const;

  harness::link_yardstick link_;
  std::vector<harness::bench_point> points_;
  std::vector<harness::bench_point> varied_points_;  ///< of variants: of these there is the headline alone
  harness::nccl_library library_{{}, "not asked for", {}};
  std::vector<harness::nccl_measurement> nccl_;
};

/// What each variant takes against the usual, to file and standard output.
void conclude_variants(std::span<const harness::bench_point> points, line_file& file);

/// Crossover and check of auto of every shape, to file and standard output; each where its transports were asked for.
void conclude_transports(const harness::bench_options& options, const std::vector<harness::bench_point>& points,
                         line_file& file);
void conclude_transports(const harness::bench_options& options, const std::vector<harness::repeated_point>& points,
                         line_file& file);

/// Runs `measure`. What can go wrong in it with the library or the GPUs is told: a line on standard error that begins
/// with `command`. Returns whether nothing did.
bool measure_or_tell(const std::string& command, const std::function<void()>& measure);

/// The yardsticks alone, for a process that reads them: JSON lines on standard output. Throws environment_error when
/// nobody reads any more.
class yardstick_output final : public harness::nccl_observer {
 public:
  void note(const std::string& line) override;
  void nccl_found(const harness::nccl_library& used) override;
  void measured(const harness::nccl_measurement& one) override;
};

}  // namespace switchyard::tools
