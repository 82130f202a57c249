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
          "first_epoch": 4294967291, "timeout_ms": 18, "late_us": 19, "expected_fault": "timeout",
          "absent": {"rank": 2, "step": 1, "phase": "combine"}})");
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
  EXPECT_EQ(spec.steps, 14);
  EXPECT_EQ(spec.blocks, 15);
  EXPECT_EQ(spec.workers, 16);
  EXPECT_EQ(spec.first_epoch, 4294967291U);
  EXPECT_EQ(spec.timeout.count(), 18);
  EXPECT_EQ(spec.late.at_most.count(), 19);
  EXPECT_EQ(spec.expected_fault, fault_code::timeout);
  ASSERT_TRUE(spec.absent.has_value());
  EXPECT_EQ(spec.absent->rank, 2);
  EXPECT_EQ(spec.absent->step, 1);
  EXPECT_EQ(spec.absent->phase, phase::combine);
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
  EXPECT_EQ(spec.first_epoch, defaults.first_epoch);
  EXPECT_EQ(spec.timeout, defaults.timeout);
  EXPECT_EQ(spec.routing, defaults.routing);
  EXPECT_FALSE(spec.absent.has_value());
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
