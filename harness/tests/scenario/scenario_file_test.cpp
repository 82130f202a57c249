// SPDX-License-Identifier: Apache-2.0
// Files on disk, and what a right scenario becomes.
#include "switchyard/harness/scenario_file.hpp"

#include <filesystem>
#include <fstream>

#include "scenario_text.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

TEST(scenario_file, every_field_arrives_in_the_case) {
  const auto cases = cases_of_text(
      R"({"name": "s", "sentence": "x", "tags": ["b", "a"], "num_experts": 20, "top_k": 5, "hidden_size": 96,
          "dtype": "fp32", "dispatch_format": "nvfp4", "ranks": 3, "tokens": 7, "runtime_max_tokens": 9,
          "max_tokens_per_rank": 11, "topk_weights": false, "extra_bytes": 12, "routing": "balanced",
          "invalid_percent": 13, "variation": "vary", "steps": 14, "blocks": 15, "workers": 16,
          "first_epoch": 4294967291, "timeout_ms": 18, "launch": "two_graphs", "lamport": "on",
          "lamport_max_tokens": 5, "low_precision_combine": "fp8_block_scaled", "late_us": 19, "expected_fault": "timeout",
          "inject": {"kind": "stop", "rank": 2, "step": 1, "phase": "combine"}})");
  ASSERT_EQ(cases.size(), 1U);
  const auto& spec = cases.front();
  EXPECT_EQ(spec.id, "t/s");
  EXPECT_EQ(spec.suite, "t");
  EXPECT_EQ(spec.name, "s");
  EXPECT_EQ(spec.tags, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(spec.profile, "");
  EXPECT_EQ(spec.ep_size, 3);
  EXPECT_EQ(spec.params.num_experts, 20);
  EXPECT_EQ(spec.params.top_k, 5);
  EXPECT_EQ(spec.params.hidden_size, 96);
  EXPECT_EQ(spec.params.dtype, dtype::fp32);
  EXPECT_EQ(spec.params.dispatch_format, dispatch_format::nvfp4);
  EXPECT_EQ(spec.params.max_tokens_per_rank, 11);
  EXPECT_EQ(spec.num_tokens, 7);
  EXPECT_EQ(spec.runtime_max_tokens, 9);
  EXPECT_FALSE(spec.topk_weights);
  EXPECT_EQ(spec.extra_bytes, 12U);
  EXPECT_EQ(spec.routing, routing_law::balanced);
  EXPECT_EQ(spec.invalid_percent, 13);
  EXPECT_EQ(spec.variation, step_variation::vary);
  EXPECT_EQ(spec.launch, launch_mode::two_graphs);
  EXPECT_EQ(spec.lamport, choice::on);
  EXPECT_EQ(spec.lamport_max_tokens, 5);
  EXPECT_EQ(spec.low_precision_combine, low_precision::fp8_block_scaled);
  EXPECT_EQ(spec.steps, 14);
  EXPECT_EQ(spec.blocks, 15);
  EXPECT_EQ(spec.workers, 16);
  EXPECT_EQ(spec.first_epoch, 4294967291U);
  EXPECT_EQ(spec.timeout.count(), 18);
  EXPECT_EQ(spec.late.at_most.count(), 19);
  EXPECT_EQ(spec.expected_fault, fault_code::timeout);
  ASSERT_TRUE(spec.inject.has_value());
  EXPECT_EQ(spec.inject->rank, 2);
  EXPECT_EQ(spec.inject->step, 1);
  EXPECT_EQ(spec.inject->phase, phase::combine);
  EXPECT_EQ(spec.inject->kind, fault_kind::stop);
}

TEST(scenario_file, what_a_rank_does_wrong_arrives_in_the_case) {
  const auto cases = cases_of_text(R"({"name": "s", "sentence": "x", "num_experts": 20, "top_k": 5, "hidden_size": 96,
      "ranks": 4, "tokens": 8, "warmup_timeout_ms": 700, "timeout_ms": 300, "expected_fault": "timeout",
      "prompt_verdict": true, "recover": true, "steps": 4, "inject": {"kind": "late", "rank": 3, "step": 2, "late_ms": 400}})");
  const auto& spec = cases.front();
  EXPECT_EQ(spec.warmup_timeout.count(), 700);
  EXPECT_TRUE(spec.prompt_verdict);
  EXPECT_TRUE(spec.recovers);
  ASSERT_TRUE(spec.inject.has_value());
  EXPECT_EQ(spec.inject->kind, fault_kind::late);
  EXPECT_EQ(spec.inject->late.count(), 400);
  EXPECT_EQ(spec.inject->phase, phase::dispatch);
}

TEST(scenario_file, a_field_that_combine_declares_is_wrong_in_combine) {
  const auto cases = cases_of_text(R"({"name": "s", "sentence": "x", "num_experts": 20, "top_k": 5, "hidden_size": 96,
      "ranks": 2, "tokens": 8, "expected_fault": "step_mismatch",
      "inject": {"kind": "disagree", "rank": 1, "field": "combine_dtype"}})");
  EXPECT_EQ(cases.front().inject->field, step_field::combine_dtype);
  EXPECT_EQ(cases.front().inject->phase, phase::combine);
}

TEST(scenario_file, counts_and_strides_arrive_in_the_case) {
  const auto cases = cases_of_text(R"({"name": "s", "sentence": "x", "num_experts": 20, "top_k": 5, "hidden_size": 96,
      "ranks": 4, "token_counts": "5:17:3:32/8", "padding_rows": "0:1:2:3", "empty_ranks": 2,
      "runtime_max_tokens_from": "drawn", "max_tokens_per_rank": 40, "values": "nan_rows", "experts": "identity",
      "duplicate_percent": 21, "late_us": 30, "late_rank": 3})");
  const auto& spec = cases.front();
  EXPECT_EQ(spec.num_tokens, 32);
  ASSERT_TRUE(spec.token_counts.has_value());
  EXPECT_EQ(spec.token_counts->text(), "5:17:3:32/8");
  EXPECT_EQ(spec.padding_rows.text(), "0:1:2:3");
  EXPECT_EQ(spec.empty_ranks, 2);
  EXPECT_EQ(spec.runtime_max_tokens_from, runtime_max_rule::drawn);
  EXPECT_EQ(spec.params.max_tokens_per_rank, 40);
  EXPECT_EQ(spec.values, hidden_values::nan_rows);
  EXPECT_EQ(spec.experts, reference::expert_law::identity);
  EXPECT_EQ(spec.duplicate_percent, 21);
  EXPECT_EQ(spec.late.rank, 3);
}

TEST(scenario_file, what_the_laws_need_arrives_in_the_case) {
  const auto law_of = [](const std::string& more) { return cases_of_text(scenario_text(more)).front(); };
  EXPECT_EQ(law_of(R"(, "routing": "zipf", "zipf_exponent_percent": 137)").law.zipf_exponent_percent, 137);
  const auto hot = law_of(R"(, "routing": "hot_rank", "hot_percent": 42, "hot_rank": 3)");
  EXPECT_EQ(hot.routing, routing_law::hot_rank);
  EXPECT_EQ(hot.law.hot_percent, 42);
  EXPECT_EQ(hot.law.hot_rank, 3);
  EXPECT_EQ(law_of(R"(, "routing": "hot_expert", "hot_expert": 9)").law.hot_expert, 9);
  const auto grouped = law_of(R"(, "routing": "grouped", "expert_groups": 5, "groups_per_token": 2)");
  EXPECT_EQ(grouped.law.expert_groups, 5);
  EXPECT_EQ(grouped.law.groups_per_token, 2);
  for (const auto law : {routing_law::balanced, routing_law::local, routing_law::remote}) {
    EXPECT_EQ(law_of(R"(, "routing": ")" + std::string(to_string(law)) + "\"").routing, law);
  }
}

TEST(scenario_file, counts_may_be_swept_and_stand_in_ids) {
  const auto cases = cases_of_text(R"({"name": "s", "sentence": "x", "profile": "tiny", "ranks": 2,
      "sweep": {"kind": "product", "axes": {"token_counts": ["0:3/4", "5"]}}})");
  EXPECT_EQ(ids_of(cases), (std::vector<std::string>{"t/s@token_counts=0:3/4", "t/s@token_counts=5"}));
  const auto address = parse_case_id(cases.front().id);
  EXPECT_EQ(address.settings, (std::vector<std::pair<std::string, std::string>>{{"token_counts", "0:3/4"}}));
}

TEST(scenario_file, what_is_not_said_has_the_defaults_of_a_case) {
  const auto cases = cases_of_text(shapeless_text(R"(, "profile": "tiny")"));
  ASSERT_EQ(cases.size(), 1U);
  const auto& spec = cases.front();
  const case_spec defaults;
  EXPECT_EQ(spec.profile, "tiny");
  EXPECT_EQ(spec.params.num_experts, 6);
  EXPECT_EQ(spec.params.dispatch_format, dispatch_format::mxfp8);
  EXPECT_EQ(spec.params.max_tokens_per_rank, 8);
  EXPECT_EQ(spec.runtime_max_tokens, std::nullopt);
  EXPECT_EQ(spec.topk_weights, defaults.topk_weights);
  EXPECT_EQ(spec.steps, defaults.steps);
  EXPECT_EQ(spec.blocks, defaults.blocks);
  EXPECT_EQ(spec.workers, defaults.workers);
  EXPECT_EQ(spec.lamport, defaults.lamport);
  EXPECT_EQ(spec.lamport_max_tokens, defaults.lamport_max_tokens);
  EXPECT_EQ(spec.low_precision_combine, low_precision::none);
  EXPECT_EQ(spec.first_epoch, defaults.first_epoch);
  EXPECT_EQ(spec.timeout, defaults.timeout);
  EXPECT_EQ(spec.routing, defaults.routing);
  EXPECT_FALSE(spec.inject.has_value());
}

TEST(scenario_file, no_tokens_still_need_a_row) {
  const auto cases = cases_of_text(
      R"({"name": "s", "sentence": "x", "ranks": 2, "tokens": 0, "num_experts": 4, "top_k": 1, "hidden_size": 8})");
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases.front().num_tokens, 0);
  EXPECT_EQ(cases.front().params.max_tokens_per_rank, 1);
  EXPECT_EQ(cases.front().params.dispatch_format, std::nullopt);
}

TEST(scenario_file, a_byte_order_mark_and_text_beyond_ascii_are_fine) {
  const auto text =
      "\xef\xbb\xbf" + suite_text(R"({"name": "s", "sentence": "größer ≥ 2 🙂", "ranks": 1, "tokens": 1,
                                                     "profile": "tiny"})");
  EXPECT_EQ(parse_suite(text, "t.json").scenarios.front().sentence, "größer ≥ 2 🙂");
}

TEST(scenario_file, files_that_cannot_be_read) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "scenario_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "folder.json");
  EXPECT_EQ(refusal([&] { read_suite_file(folder / "none.json"); }),
            (folder / "none.json").string() + ": no such file");
  EXPECT_EQ(refusal([&] { read_suite_file(folder / "folder.json"); }),
            (folder / "folder.json").string() + ": not a regular file");
  std::ofstream(folder / "empty.json").close();
  EXPECT_EQ(refusal([&] { read_suite_file(folder / "empty.json"); }),
            (folder / "empty.json").string() + ": empty file");
  std::ofstream(folder / "large.json") << std::string((std::size_t{16} << 20) + 1, ' ');
  EXPECT_EQ(refusal([&] { read_suite_file(folder / "large.json"); }),
            (folder / "large.json").string() + ": 16777217 bytes: must be at most 16777216");
}

TEST(scenario_fields, text_of_a_value_reads_back_as_the_value) {
  for (const auto& rule : field_rules()) {
    std::vector<field_value> values;
    if (rule.kind == field_kind::boolean) values = {true, false};
    if (rule.kind == field_kind::integer) values = {rule.min, rule.max};
    if (rule.kind == field_kind::counts) values = {std::string("0"), std::string("1:2/3")};
    for (const auto word : rule.words) values.emplace_back(std::string(word));
    for (const auto& value : values) {
      EXPECT_TRUE(obeys(rule, value)) << rule.name;
      EXPECT_EQ(field_value_from_text(rule, to_text(value)), value) << rule.name << '=' << to_text(value);
    }
    EXPECT_EQ(find_field(rule.name), &rule);
  }
  EXPECT_EQ(find_field("rank"), nullptr);
}

TEST(scenario_fields, a_value_has_one_spelling) {
  const auto& tokens = *find_field("tokens");
  for (const auto* text : {"", "01", "-0", "+1", " 1", "1 ", "0x1", "1.0", "1e1", "99999999999999999999", "-1"}) {
    EXPECT_EQ(field_value_from_text(tokens, text), std::nullopt) << text;
  }
  EXPECT_EQ(field_value_from_text(*find_field("topk_weights"), "1"), std::nullopt);
  EXPECT_EQ(field_value_from_text(*find_field("dtype"), "bf8"), std::nullopt);
}

}  // namespace
}  // namespace switchyard::harness
