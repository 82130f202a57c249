// SPDX-License-Identifier: Apache-2.0
// Verdicts as JSON lines, as tables, and one of them with its arithmetic.
//
//   {"record":"gate_verdict", "schema":1, ...}   one a scenario, with the samples and rules that it came from
//   {"record":"gate_summary", "schema":1, ...}   counts, what was compared, exit code
//
// Every number's key ends in its unit. What does not apply is null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "switchyard/harness/gate/sample_set.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {

inline constexpr int verdict_schema = 1;

nlohmann::ordered_json to_json(const scenario_verdict& one, const gate_rules& rules);
nlohmann::ordered_json summary_json(const gate_result& result, const gate_rules& rules, const sample_set& base,
                                    const sample_set& current);

struct recorded_verdict {
  scenario_verdict verdict;
  gate_rules rules;
};
/// The inverse of to_json(). Throws input_error, which names `where`, for what is none and for a record that its own
/// samples contradict.
recorded_verdict verdict_from(const nlohmann::json& record, const std::string& where);

/// How a verdict came about, step by step, from samples to the last comparison; lines.
std::string arithmetic_of(const scenario_verdict& one, const gate_rules& rules);

/// A Markdown table with a row per scenario, those that pass only where asked for; empty without rows.
enum class table_rows { but_pass, all };
std::string verdict_table(const gate_result& result, table_rows rows);
/// What was compared, what came of it, how noisy it was; lines.
std::string verdict_summary(const gate_result& result, const gate_rules& rules, const sample_set& base,
                            const sample_set& current);

}  // namespace switchyard::harness::gate
