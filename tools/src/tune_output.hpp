// SPDX-License-Identifier: Apache-2.0
// What tune hears of a bench, which points it asks for next, and what it prints.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/bench_run.hpp"
#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/lamport_tuning.hpp"

namespace switchyard::tools {

enum class tune_form : std::uint8_t { text, json };

/// Progress to standard error, the result to standard output.
class tune_output final : public harness::bench_observer {
 public:
  tune_output(const harness::bench_options& options, tune_form form) : options_(options), form_(form) {}

  void note(const std::string& line) override;
  void machine(const harness::bench_machine& where) override;
  void link(const harness::link_yardstick& measured) override;
  void point(const harness::bench_point& measured) override;
  /// Between the largest point that is to go by lamport and the next; twice, each time between nearer ones.
  std::vector<std::int64_t> further_tokens() override;
  /// Prints what to set. `inconclusive` where nothing could be compared or no threshold is right at every point.
  harness::exit_code conclude() const;

 private:
  [[nodiscard]] std::vector<harness::transport_comparison> compared() const;
  void print(const nlohmann::ordered_json& record) const;

  const harness::bench_options& options_;
  tune_form form_;
  int rounds_done_ = 0;
  std::vector<harness::bench_point> points_;
};

}  // namespace switchyard::tools
