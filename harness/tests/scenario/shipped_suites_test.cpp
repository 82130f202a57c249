// SPDX-License-Identifier: Apache-2.0
// The scenario files that the project ships: they parse, and they hold what they are for.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "scenario_text.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {
namespace {

const suite_catalog& shipped() {
  static const suite_catalog catalog(SWITCHYARD_TEST_SCENARIOS);
  return catalog;
}

std::vector<case_spec> cases_of_suite(const std::string& name) {
  case_selection selection;
  selection.suites = {name};
  return select_cases(shipped(), selection);
}

TEST(shipped_suites, profiles_are_those_of_the_published_models) {
  struct row {
    std::int64_t hidden_size, top_k, num_experts;
    dispatch_format format;
    std::size_t bytes_per_token;  // worked out by hand: 2 a value for bf16; 1 + 1/32 for mxfp8; 1/2 + 1/16 for nvfp4
  };
  const std::map<std::string, row> due{
      {"gpt_oss", {2880, 4, 128, dispatch_format::mxfp8, 2970}},
      {"deepseek_v3", {7168, 8, 256, dispatch_format::bf16, 14336}},
      {"deepseek_v4_flash", {4096, 6, 256, dispatch_format::mxfp8, 4224}},
      {"deepseek_v4_pro", {7168, 6, 384, dispatch_format::mxfp8, 7392}},
      {"kimi_k3", {3584, 16, 896, dispatch_format::mxfp8, 3696}},
      {"qwen3p8_2p4t", {8192, 10, 512, dispatch_format::bf16, 16384}},
      {"mixtral", {4096, 2, 8, dispatch_format::bf16, 8192}},
      {"nemotron3", {4096, 22, 512, dispatch_format::nvfp4, 2304}},
  };
  ASSERT_EQ(shipped().profiles().size(), due.size());
  for (const auto& [name, profile] : shipped().profiles()) {
    ASSERT_TRUE(due.count(name)) << name;
    const auto& want = due.at(name);
    EXPECT_EQ(profile.hidden_size, want.hidden_size) << name;
    EXPECT_EQ(profile.top_k, want.top_k) << name;
    EXPECT_EQ(profile.num_experts, want.num_experts) << name;
    EXPECT_EQ(profile.dtype, dtype::bf16) << name;
    EXPECT_EQ(profile.dispatch_format, want.format) << name;
  }
  for (const auto& spec : cases_of_suite("smoke")) {
    EXPECT_EQ(spec.params.dispatch_bytes_per_token(), due.at(spec.profile).bytes_per_token) << spec.id;
  }
}

TEST(shipped_suites, every_suite_loads_and_its_ids_are_unique_and_lead_back) {
  std::set<std::string> seen;
  for (const auto& name : shipped().names()) {
    for (const auto& spec : cases_of_suite(name)) {
      EXPECT_TRUE(seen.insert(spec.id).second) << spec.id;
      case_selection one;
      one.case_id = spec.id;
      const auto again = select_cases(shipped(), one);
      ASSERT_EQ(again.size(), 1U);
      EXPECT_EQ(again.front().id, spec.id);
    }
  }
}

TEST(shipped_suites, smoke_crosses_profiles_ranks_and_tokens) {
  const auto cases = cases_of_suite("smoke");
  EXPECT_EQ(cases.size(), 72U);
  std::set<std::tuple<std::string, int, std::int64_t>> points;
  for (const auto& spec : cases) {
    points.emplace(spec.profile, spec.ep_size, spec.num_tokens);
    EXPECT_EQ(spec.steps, 2);
    EXPECT_EQ(spec.blocks, 2);
    EXPECT_EQ(spec.workers, 1);
    EXPECT_TRUE(spec.ep_size == 2 || spec.ep_size == 4 || spec.ep_size == 8);
    EXPECT_TRUE(spec.num_tokens == 1 || spec.num_tokens == 16 || spec.num_tokens == 256);
  }
  EXPECT_EQ(points.size(), 72U);
}

TEST(shipped_suites, sanitize_varies_and_interleaves) {
  const auto cases = cases_of_suite("sanitize");
  std::set<std::tuple<int, int, int, bool>> points;
  for (const auto& spec : cases) {
    EXPECT_EQ(spec.variation, step_variation::vary) << spec.id;
    EXPECT_EQ(spec.steps, 300) << spec.id;
    EXPECT_TRUE(spec.workers == 1 || spec.workers == spec.blocks) << spec.id;
    points.emplace(spec.ep_size, spec.blocks, spec.workers, spec.late.at_most.count() > 0);
  }
  EXPECT_EQ(points.size(), 5U * 3U * 2U);
}

TEST(shipped_suites, routing_has_every_law_and_trace_on_every_group) {
  std::set<std::pair<routing_law, int>> laws;
  std::set<std::string> traces;
  for (const auto& spec : cases_of_suite("routing")) {
    laws.emplace(spec.routing, spec.ep_size);
    if (spec.trace) traces.insert(spec.trace->about().name);
  }
  for (const auto law : all_routing_laws) {
    for (const int ranks : {2, 3, 4, 8}) EXPECT_TRUE(laws.count({law, ranks})) << to_string(law) << ' ' << ranks;
  }
  const auto folder = std::filesystem::path(SWITCHYARD_TEST_SCENARIOS) / "traces";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(traces.count(file.path().stem().string())) << file.path() << " is in no case";
  }
}

TEST(shipped_suites, scale_reaches_a_rack) {
  const auto cases = cases_of_suite("scale");
  std::set<std::pair<int, std::int64_t>> points;
  for (const auto& spec : cases) {
    points.emplace(spec.ep_size, spec.num_tokens);
    EXPECT_EQ(spec.params.num_experts, 256);
  }
  EXPECT_EQ(points, (std::set<std::pair<int, std::int64_t>>{{64, 1}, {64, 8}, {72, 1}, {72, 8}}));
}

TEST(shipped_suites, faults_host_loses_a_rank_before_each_phase) {
  std::set<std::pair<int, phase>> points;
  for (const auto& spec : cases_of_suite("faults_host")) {
    ASSERT_TRUE(spec.absent.has_value()) << spec.id;
    EXPECT_EQ(spec.expected_fault, fault_code::timeout) << spec.id;
    EXPECT_EQ(spec.timeout.count(), 200) << spec.id;
    points.emplace(spec.ep_size, spec.absent->phase);
  }
  EXPECT_EQ(points, (std::set<std::pair<int, phase>>{
                        {2, phase::dispatch}, {2, phase::combine}, {4, phase::dispatch}, {4, phase::combine}}));
}

}  // namespace
}  // namespace switchyard::harness
