// SPDX-License-Identifier: Apache-2.0
// The scenario files that the project ships: they parse, and they hold what they are for.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "scenario_text.hpp"
#include "switchyard/harness/must_pass.hpp"
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
  // Models in formats of 4 bits besides that in which they were published: 1/2 + 1/32 for mxfp4.
  const std::map<std::string, std::size_t> in_four_bits{{"gpt_oss_mxfp4", 1530}, {"deepseek_v3_nvfp4", 4032}};
  for (const auto& spec : cases_of_suite("smoke")) {
    const auto bytes = spec.profile.empty() ? in_four_bits.at(spec.name) : due.at(spec.profile).bytes_per_token;
    EXPECT_EQ(spec.params.dispatch_bytes_per_token(), bytes) << spec.id;
  }
}

TEST(shipped_suites, every_suite_loads_and_its_ids_are_unique_and_lead_back) {
  std::set<std::string> seen;
  for (const auto& name : shipped().names()) {
    const auto from = shipped().load(name);
    std::size_t cases = 0;
    for (const auto& spec : expand(from, shipped().profiles())) {
      EXPECT_TRUE(seen.insert(spec.id).second) << spec.id;
      EXPECT_EQ(expand_one(from, parse_case_id(spec.id), shipped().profiles()).id, spec.id);
      ++cases;
    }
    EXPECT_EQ(cases > 0, !from.scenarios.empty()) << name;
    EXPECT_GE(cases_of_suite(name).size(), std::max<std::size_t>(1, cases)) << name;
  }
}

TEST(shipped_suites, smoke_crosses_profiles_ranks_and_tokens) {
  const auto cases = cases_of_suite("smoke");
  EXPECT_EQ(cases.size(), 90U);
  std::set<std::tuple<std::string, int, std::int64_t>> points;
  for (const auto& spec : cases) {
    points.emplace(spec.name, spec.ep_size, spec.num_tokens);
    EXPECT_EQ(spec.steps, 2);
    EXPECT_EQ(spec.blocks, 2);
    EXPECT_EQ(spec.workers, 1);
    EXPECT_TRUE(spec.ep_size == 2 || spec.ep_size == 4 || spec.ep_size == 8);
    EXPECT_TRUE(spec.num_tokens == 1 || spec.num_tokens == 16 || spec.num_tokens == 256);
  }
  EXPECT_EQ(points.size(), 90U);
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

TEST(shipped_suites, lamport_stands_on_both_sides_of_its_bound_and_goes_to_and_fro) {
  std::set<std::int64_t> below_at_above;
  std::set<int> groups;
  std::size_t long_runs = 0;
  for (const auto& spec : cases_of_suite("lamport")) {
    if (spec.name == "threshold") below_at_above.insert(*spec.runtime_max_tokens - spec.lamport_max_tokens);
    if (spec.name == "b06_group_sizes") groups.insert(spec.ep_size);
    if (spec.name == "to_and_fro") {
      EXPECT_LT(spec.lamport_max_tokens, spec.num_tokens) << spec.id;
      long_runs += spec.steps >= 300 ? 1 : 0;
    }
    if (spec.name == "b05_hard_payloads") {
      EXPECT_EQ(spec.values, hidden_values::hard_words) << spec.id;
    }
  }
  EXPECT_EQ(below_at_above, (std::set<std::int64_t>{-1, 0, 1}));
  EXPECT_EQ(groups, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(long_runs, 12U);
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

// Fault x transport x phase; which fabric it is, is chosen when the suite is run.
TEST(shipped_suites, faults_has_every_kind_in_both_phases_by_both_transports) {
  std::set<std::tuple<fault_kind, phase, choice>> points;
  std::set<step_field> disagreed;
  std::set<fault_code> codes;
  for (const auto& spec : cases_of_suite("faults")) {
    codes.insert(spec.expected_fault);
    if (!spec.inject) continue;
    points.emplace(spec.inject->kind, spec.inject->phase, spec.lamport);
    if (spec.inject->kind == fault_kind::disagree) disagreed.insert(spec.inject->field);
    EXPECT_EQ(spec.prompt_verdict, spec.expected_fault != fault_code::none) << spec.id;
    EXPECT_TRUE(spec.expected_fault != fault_code::timeout || spec.timeout.count() >= 1000) << spec.id;
  }
  constexpr std::size_t of_dispatch_only = 2;  // a dispatch takes the mask, wrong or not, for its combine too
  EXPECT_EQ(points.size(), (thread_fault_kinds.size() * 2 - of_dispatch_only) * 2);
  EXPECT_EQ(disagreed.size(), 10U);
  EXPECT_EQ(codes.size(), static_cast<std::size_t>(fault_code::bad_mask) + 1);
}

TEST(shipped_suites, processes_end_in_every_way_in_both_phases_and_leave_survivors) {
  std::set<std::tuple<fault_kind, phase, choice, bool>> points;
  for (const auto& spec : cases_of_suite("processes")) {
    ASSERT_TRUE(spec.inject && spec.inject->ends_process()) << spec.id;
    EXPECT_EQ(spec.expected_fault, fault_code::timeout) << spec.id;
    points.emplace(spec.inject->kind, spec.inject->phase, spec.lamport, spec.leaves_out);
  }
  EXPECT_EQ(points.size(), (all_fault_kinds.size() - thread_fault_kinds.size()) * 2 * 2 * 2);
}

TEST(shipped_suites, masks_change_eagerly_and_between_replays_and_pass_32_and_64_ranks) {
  std::set<launch_mode> launches;
  std::set<bool> rejoins;
  int most_ranks = 0;
  for (const auto& spec : cases_of_suite("masks")) {
    EXPECT_TRUE(spec.enable_rank_mask) << spec.id;
    if (spec.masked_from) launches.insert(spec.launch);
    rejoins.insert(spec.rejoin_step.has_value());
    most_ranks = std::max(most_ranks, spec.ep_size);
  }
  EXPECT_EQ(launches.size(), all_launch_modes.size());
  EXPECT_EQ(rejoins.size(), 2U);
  EXPECT_GT(most_ranks, 64);
}

TEST(shipped_suites, lifecycle_has_layers_and_checkpoints_by_every_launch_and_both_transports) {
  std::set<std::tuple<bool, launch_mode, choice>> points;
  int most_layers = 0;
  int most_checkpoints = 0;
  int wrong_layers = 0;
  for (const auto& spec : cases_of_suite("lifecycle")) {
    most_layers = std::max(most_layers, spec.layers);
    if (spec.checkpoint_every > 0)
      most_checkpoints = std::max(most_checkpoints, (spec.steps - 1) / spec.checkpoint_every);
    if (spec.inject) wrong_layers += spec.inject->field == step_field::instance ? 1 : 0;
    if (spec.checkpoint_every > 0) points.emplace(true, spec.launch, spec.lamport);
    if (spec.layers > 1) points.emplace(false, spec.launch, spec.lamport);
  }
  for (const auto launch : {launch_mode::eager, launch_mode::graph}) {
    for (const auto lamport : {choice::automatic, choice::off}) {
      EXPECT_TRUE(points.contains({true, launch, lamport})) << to_string(launch) << ' ' << to_string(lamport);
      EXPECT_TRUE(points.contains({false, launch, lamport})) << to_string(launch) << ' ' << to_string(lamport);
    }
  }
  EXPECT_EQ(most_layers, 60);
  EXPECT_EQ(most_checkpoints, 100);
  EXPECT_EQ(wrong_layers, 8);
}

TEST(shipped_suites, lifecycle_has_formats_of_layers_and_workspaces_that_come_and_go_by_every_launch) {
  std::set<std::pair<launch_mode, choice>> mixed;
  std::set<std::pair<launch_mode, choice>> beside;
  std::set<launch_mode> many;
  for (const auto& spec : cases_of_suite("lifecycle")) {
    if (spec.layer_formats == layer_format_rule::all_that_fit) mixed.emplace(spec.launch, spec.lamport);
    if (spec.side_workspace_every == 0) continue;
    beside.emplace(spec.launch, spec.lamport);
    if (spec.steps / spec.side_workspace_every >= 200) many.insert(spec.launch);
  }
  for (const auto launch : all_launch_modes) {
    for (const auto lamport : {choice::automatic, choice::off}) {
      EXPECT_TRUE(mixed.contains({launch, lamport})) << to_string(launch) << ' ' << to_string(lamport);
      EXPECT_TRUE(beside.contains({launch, lamport})) << to_string(launch) << ' ' << to_string(lamport);
    }
  }
  EXPECT_EQ(many, (std::set{launch_mode::eager, launch_mode::graph}));
}

TEST(shipped_suites, low_precision_has_every_format_and_dtype_by_both_transports) {
  std::set<std::tuple<low_precision, dtype, choice>> points;
  std::set<routing_law> only_sources;
  for (const auto& spec : cases_of_suite("low_precision")) {
    if (spec.low_precision_combine == low_precision::none) continue;
    points.emplace(spec.low_precision_combine, spec.params.dtype, spec.lamport);
    if (spec.params.top_k == 1 && spec.name == "one_source") only_sources.insert(spec.routing);
  }
  EXPECT_EQ(points.size(), 2U * 3U * 2U);
  EXPECT_EQ(only_sources, (std::set<routing_law>{routing_law::local, routing_law::remote}));
}

TEST(shipped_suites, bugs_has_a_scenario_for_every_report_that_this_fabric_can_show) {
  std::set<std::string> numbers;
  for (const auto& spec : cases_of_suite("bugs")) numbers.insert(spec.name.substr(0, 4));
  EXPECT_EQ(numbers, (std::set<std::string>{"b01_", "b02_", "b03_", "b04_", "b06_", "b07_", "b15_", "b16_", "b17_",
                                            "b18_", "b19_", "b20_", "b21_", "b28_"}));
}

// Every format at every hidden size of a published model by both transports, and every part of a step that may not fit.
TEST(shipped_suites, formats_has_every_format_at_every_hidden_size_of_a_model) {
  std::set<std::int64_t> hidden_sizes;
  for (const auto& [name, profile] : shipped().profiles()) hidden_sizes.insert(profile.hidden_size);
  std::set<std::tuple<dispatch_format, std::int64_t, choice>> points;
  std::set<std::pair<dtype, std::int64_t>> elements;
  std::set<lacking_room> refused;
  for (const auto& spec : cases_of_suite("formats")) {
    refused.insert(spec.lacks);
    if (spec.name == "elements") elements.emplace(spec.params.dtype, spec.params.hidden_size);
    if (spec.name == "models") points.emplace(*spec.params.dispatch_format, spec.params.hidden_size, spec.lamport);
  }
  EXPECT_EQ(hidden_sizes.size(), 5U);
  decltype(points) due_points;
  decltype(elements) due_elements;
  for (const auto hidden_size : hidden_sizes) {
    for (const auto format :
         {dispatch_format::bf16, dispatch_format::fp16, dispatch_format::fp8, dispatch_format::fp8_block128,
          dispatch_format::mxfp8, dispatch_format::nvfp4, dispatch_format::mxfp4}) {
      for (const auto lamport : {choice::automatic, choice::off}) due_points.emplace(format, hidden_size, lamport);
    }
    for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) due_elements.emplace(type, hidden_size);
  }
  EXPECT_EQ(points, due_points);
  EXPECT_EQ(elements, due_elements);
  EXPECT_EQ(refused, std::set<lacking_room>(all_lacking_rooms.begin(), all_lacking_rooms.end()));
}

TEST(shipped_suites, conformance_is_small_and_has_its_pairs) {
  const auto cases = cases_of_suite("conformance");
  EXPECT_LE(cases.size(), 500U);
  std::set<std::pair<int, std::int64_t>> ranks_and_tokens;
  std::set<std::pair<std::int64_t, std::int64_t>> slots_and_tokens;
  std::set<std::pair<std::int64_t, std::int64_t>> widths_and_slots;
  std::set<std::pair<int, std::int64_t>> ranks_and_widths;
  for (const auto& spec : cases) {
    if (spec.name != "steady") continue;
    ranks_and_tokens.emplace(spec.ep_size, spec.num_tokens);
    slots_and_tokens.emplace(spec.params.top_k, spec.num_tokens);
    widths_and_slots.emplace(spec.params.hidden_size, spec.params.top_k);
    ranks_and_widths.emplace(spec.ep_size, spec.params.hidden_size);
  }
  EXPECT_EQ(ranks_and_tokens.size(), 12U * 14U);
  EXPECT_EQ(slots_and_tokens.size(), 16U * 14U);
  EXPECT_EQ(widths_and_slots.size(), 14U * 16U);
  EXPECT_EQ(ranks_and_widths.size(), 12U * 14U);
}

TEST(shipped_suites, conformance_has_its_corners) {
  std::set<std::string> corners;
  for (const auto& spec : cases_of_suite("conformance")) {
    if (std::find(spec.tags.begin(), spec.tags.end(), "corner") == spec.tags.end()) continue;
    corners.insert(spec.name);
    if (spec.name == "full") {
      EXPECT_EQ(spec.num_tokens, spec.params.max_tokens_per_rank) << spec.id;
    }
    if (spec.name == "epoch_wrap") {
      EXPECT_GT(std::uint64_t{spec.first_epoch} + 2U * 20U, std::uint64_t{1} << 32U);
    }
    if (spec.name == "all_slots") {
      EXPECT_EQ(spec.params.top_k, max_top_k) << spec.id;
    }
  }
  EXPECT_EQ(corners, (std::set<std::string>{"full", "one_token", "nobody", "one_expert", "epoch_wrap", "all_slots"}));
}

TEST(shipped_suites, conformance_full_has_conformance_and_more) {
  std::map<std::string, std::size_t> cases;
  for (const auto& spec : cases_of_suite("conformance_full")) ++cases[spec.suite];
  EXPECT_EQ(cases["conformance"], cases_of_suite("conformance").size());
  EXPECT_GE(cases["conformance_full"], 3 * cases["conformance"]);
}

TEST(shipped_suites, every_must_pass_entry_matches_a_case) {
  must_pass_evidence evidence;
  for (const auto& name : shipped().names()) {
    for (const auto& spec : cases_of_suite(name)) {
      evidence.selected.push_back(spec.id);
      evidence.statuses[spec.id] = case_status::pass;
    }
  }
  evidence.due = evidence.selected;
  std::size_t lists = 0;
  for (const auto& file : std::filesystem::directory_iterator(SWITCHYARD_TEST_SCENARIOS "/must_pass")) {
    const auto list = read_must_pass_file(file.path());
    ++lists;
    for (const auto& shortfall : judge_must_pass(list, evidence)) ADD_FAILURE() << describe(list, shortfall);
  }
  EXPECT_EQ(lists, 2U);
}

TEST(shipped_suites, the_host_fabric_must_pass_all_of_smoke_bugs_formats_and_conformance) {
  case_selection selection;
  selection.suites = {"smoke", "bugs", "formats", "conformance"};
  must_pass_evidence nothing_ran;
  nothing_ran.selected = nothing_ran.due = ids_of(select_cases(shipped(), selection));
  std::set<std::string> missing;
  for (const auto& shortfall : judge_must_pass(load_must_pass(SWITCHYARD_TEST_SCENARIOS, "host"), nothing_ran)) {
    missing.insert(shortfall.case_id);
  }
  EXPECT_EQ(missing, std::set<std::string>(nothing_ran.selected.begin(), nothing_ran.selected.end()));
}

TEST(shipped_suites, the_host_fabric_must_pass_all_of_faults_that_needs_no_graph) {
  must_pass_evidence nothing_ran;
  for (const auto& spec : cases_of_suite("faults")) {
    if (spec.launch == launch_mode::eager) nothing_ran.selected.push_back(spec.id);
  }
  nothing_ran.due = nothing_ran.selected;
  std::set<std::string> missing;
  for (const auto& shortfall : judge_must_pass(load_must_pass(SWITCHYARD_TEST_SCENARIOS, "faults"), nothing_ran)) {
    missing.insert(shortfall.case_id);
  }
  EXPECT_EQ(missing, std::set<std::string>(nothing_ran.selected.begin(), nothing_ran.selected.end()));
}

}  // namespace
}  // namespace switchyard::harness
