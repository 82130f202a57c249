// SPDX-License-Identifier: Apache-2.0
// Options and output that compare and gate share.
#pragma once

#include <string>

#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/gate/sample_set.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace CLI {
class App;
}

namespace switchyard::tools {

struct gate_arguments {
  std::string percent = "2";
  std::string least_us = "0.3";
  std::string noise;  ///< file of A/A launches
  std::string out;    ///< verdicts as JSON lines
  std::string waivers;
  std::string known_issues;
  std::string junit;
  std::string csv;
  std::string openmetrics;
  bool all = false;
  bool json = false;
};

void add_gate_options(CLI::App& command, gate_arguments& into);
/// Throws input_error for an option that is given and says nothing.
void require_gate_texts(const CLI::App& command, const gate_arguments& arguments);

/// The rules of the gate with what was asked for. Throws input_error naming the option.
harness::gate::gate_rules read_rules(const gate_arguments& arguments);

/// Judges, writes what was asked for, prints table and summary; returns what the program ends with.
harness::exit_code judge_and_tell(harness::gate::sample_set base, const harness::gate::sample_set& current,
                                  const gate_arguments& arguments);

}  // namespace switchyard::tools
