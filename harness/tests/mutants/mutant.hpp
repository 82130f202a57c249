// SPDX-License-Identifier: Apache-2.0
// A mutation of the protocol, the case that shows it, and what must come of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>

#include "injection/injecting_host_fabric.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {

/// How the case must end.
struct killed_by {
  std::set<verdict> verdicts;   ///< at least one finding has one of these; empty: a fault is due instead
  std::set<fault_code> faults;  ///< every recorded fault has one of these codes
};

struct mutant {
  std::string name;
  injection::mutation plan;
  killed_by expected;
  void (*shape)(case_spec&) = [](case_spec&) {};
  injection::mutation beside{.at_most = 0};  ///< an unlucky order of events, which is there without the mutation too
};

/// The case that mutants of this kind change: a few steps of three ranks, two blocks each, so that roles, elections and
/// waits meet.
inline case_spec case_of_mutants(const std::string& name) {
  case_spec spec;
  spec.suite = "mutants";
  spec.name = name;
  spec.id = "mutants/" + name;
  spec.ep_size = 3;
  spec.params = {.num_experts = 9, .top_k = 3, .max_tokens_per_rank = 40, .hidden_size = 64};
  spec.num_tokens = 33;  // leaves padding, and a bitmap word that is not full
  spec.runtime_max_tokens = 40;
  spec.steps = 5;
  spec.blocks = 2;
  spec.workers = 2;
  spec.timeout = std::chrono::milliseconds(400);
  spec.warmup_timeout = spec.timeout;
  return spec;
}

inline void PrintTo(const mutant& one, std::ostream* out) {
  *out << one.name;
}  // NOLINT: the name GoogleTest looks for

inline std::string told(const case_result& result) {
  std::ostringstream text;
  text << to_string(result.status) << ": " << result.reason << '\n';
  for (const auto& f : result.findings) text << "  " << describe(f) << '\n';
  for (const auto& f : result.faults) text << "  rank " << f.rank << ": " << f.message << '\n';
  return text.str();
}

inline case_result run_with(const case_spec& spec, const std::shared_ptr<injection::injector>& plan,
                            const injection::mutation& beside = {.at_most = 0}) {
  arena memory(required_bytes(spec));
  run_options options;
  const auto events = std::make_shared<injection::injector>(beside);
  options.make_fabric = [&](int) { return injection::make_injecting_host_fabric(events, plan); };
  return run_case(spec, memory, options);
}

inline void expect_killed(case_spec spec, const mutant& one) {
  one.shape(spec);
  const auto plan = std::make_shared<injection::injector>(one.plan);
  const auto result = run_with(spec, plan, one.beside);
  EXPECT_GT(plan->matches(), one.plan.skip_first) << "the mutation never came up";
  ASSERT_NE(result.status, case_status::pass) << "survived";

  const bool verdict_seen = std::any_of(result.findings.begin(), result.findings.end(),
                                        [&](const finding& f) { return one.expected.verdicts.contains(f.verdict); });
  const bool fault_seen = !result.faults.empty() &&
                          std::all_of(result.faults.begin(), result.faults.end(),
                                      [&](const rank_fault& f) { return one.expected.faults.contains(f.record.code); });
  EXPECT_TRUE(verdict_seen || fault_seen) << told(result);
}

/// It is the mutation that is found, not the case.
inline void expect_pass_without(case_spec spec, mutant one) {
  one.shape(spec);
  one.plan.at_most = 0;
  const auto result = run_with(spec, std::make_shared<injection::injector>(one.plan), one.beside);
  EXPECT_EQ(result.status, case_status::pass) << told(result);
}

}  // namespace switchyard::harness
