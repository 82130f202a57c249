// SPDX-License-Identifier: Apache-2.0
// What records hold, and that timing stays where it belongs.
#include "switchyard/harness/record_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_results.hpp"

namespace switchyard::harness {
namespace {

nlohmann::json without_time(const case_result& result, std::chrono::nanoseconds elapsed) {
  auto out = nlohmann::json::parse(record_line(case_json(sample_spec("s", "ranks=2"), result, 5, elapsed)));
  out.erase("time");
  return out;
}

TEST(record_json, a_failing_case_says_everything) {
  const auto out = nlohmann::json::parse(record_line(
      case_json(sample_spec("s", "ranks=2"), sample_fail(), 18446744073709551615U, std::chrono::seconds(1))));
  EXPECT_EQ(out["record"], "case");
  EXPECT_EQ(out["id"], "u/s@ranks=2");
  EXPECT_EQ(out["suite"], "u");
  EXPECT_EQ(out["scenario"], "s");
  EXPECT_EQ(out["seed"], 18446744073709551615U);
  EXPECT_EQ(out["status"], "fail");
  EXPECT_EQ(out["reason"], "1 finding");
  EXPECT_EQ(out["profile"], nullptr);
  EXPECT_EQ(out["transport"], "fence");
  EXPECT_EQ(out["checked_bytes"], 1'000'000);
  EXPECT_EQ(out["remote_bytes"], 300'000);
  EXPECT_EQ(out["returned_bytes"], 290'000);
  EXPECT_EQ(out["wire_bytes_max_rank"], 100'000);
  EXPECT_EQ(out["low_precision_error"], nullptr);
  EXPECT_EQ(out["spec"]["low_precision_combine"], "none");
  EXPECT_EQ(out["total_findings"], 4);
  EXPECT_EQ(out["spec"]["ranks"], 2);
  EXPECT_EQ(out["spec"]["max_tokens_per_rank"], 16);
  EXPECT_EQ(out["spec"]["inject"], nullptr);
  const auto& found = out["findings"][0];
  EXPECT_EQ(found["verdict"], "stale");
  EXPECT_EQ(found["token"], 7);
  EXPECT_EQ(found["expected"], "0x8000000000000001");
  EXPECT_EQ(found["actual"], "0x2");
  const auto& fault = out["faults"][0];
  EXPECT_EQ(fault["rank"], 1);
  EXPECT_EQ(fault["code"], "timeout");
  EXPECT_EQ(fault["field"], "none");
  EXPECT_EQ(out["time"]["faults"][0]["phase"], "combine");
  EXPECT_EQ(out["time"]["faults"][0]["suspect"], 0);
  EXPECT_EQ(out["time"]["elapsed_ns"], 1'000'000'000);
  EXPECT_EQ(out["time"]["dispatch_ns"], (std::vector<int>{10, 5}));
  EXPECT_EQ(out["time"]["faults"][0]["missing"], (std::vector<int>{0, 65}));
  EXPECT_EQ(out["time"]["faults"][0]["waited_ns"], 201'000'000);
  EXPECT_EQ(out["time"]["faults"][0]["awaited"], "nothing");
}

TEST(record_json, the_error_of_low_precision_is_told) {
  auto spec = sample_spec("s", "ranks=2");
  spec.low_precision_combine = low_precision::fp8;
  auto result = sample_pass(1, 1);
  result.low_precision_error = {
      .elements = 2, .left_out = 1, .max_relative = 0.25, .mean_relative = 0.125, .rms_relative = 0.1};
  const auto out = nlohmann::json::parse(record_line(case_json(spec, result, 5, {})));
  EXPECT_EQ(out["spec"]["low_precision_combine"], "fp8");
  const auto& error = out["low_precision_error"];
  EXPECT_EQ(error["elements"], 2);
  EXPECT_EQ(error["left_out"], 1);
  EXPECT_EQ(error["max_relative"], 0.25);
  EXPECT_EQ(error["mean_relative"], 0.125);
  EXPECT_EQ(error["rms_relative"], 0.1);
}

TEST(record_json, the_spec_says_how_inputs_were_drawn) {
  auto spec = sample_spec("s", "ranks=2");
  const auto written = [&] {
    return nlohmann::json::parse(record_line(case_json(spec, sample_pass(1, 1), 5, {})))["spec"];
  };
  EXPECT_EQ(written()["routing"], "uniform");
  EXPECT_EQ(written()["token_counts"], nullptr);
  EXPECT_EQ(written()["padding_rows"], "0");
  EXPECT_EQ(written()["late_rank"], nullptr);
  EXPECT_EQ(written()["values"], "random");
  EXPECT_EQ(written()["experts"], "scaled");
  EXPECT_EQ(written()["hot_rank"], 0);
  EXPECT_EQ(written()["trace"], nullptr);
  spec.routing = routing_law::hot_rank;
  spec.law.hot_rank = 1;
  spec.token_counts = step_counts::parse("16:3/2");
  spec.late.rank = 1;
  spec.runtime_max_tokens_from = runtime_max_rule::own_tokens;
  spec.duplicate_percent = 7;
  EXPECT_EQ(written()["routing"], "hot_rank");
  EXPECT_EQ(written()["hot_rank"], 1);
  EXPECT_EQ(written()["hot_percent"], 100);
  EXPECT_EQ(written()["token_counts"], "16:3/2");
  EXPECT_EQ(written()["late_rank"], 1);
  EXPECT_EQ(written()["runtime_max_tokens_from"], "own_tokens");
  EXPECT_EQ(written()["duplicate_percent"], 7);
  spec.routing = routing_law::zipf;
  EXPECT_EQ(written()["zipf_exponent_percent"], 100);
  spec.routing = routing_law::grouped;
  EXPECT_EQ(written()["expert_groups"], 8);
  EXPECT_EQ(written()["groups_per_token"], 4);
}

TEST(record_json, what_timing_changes_stands_under_time) {
  const auto first = sample_fail();
  auto second = first;
  second.times = {{77, 88}};
  auto& fault = second.faults.front();
  fault.message = "another moment";
  fault.record.waited_ns = 1;
  fault.record.from_notice = 1;
  fault.record.origin = 0;
  insert(fault.record.missing, 3);
  fault.record.awaited = awaited::rows;
  fault.record.phase = phase::dispatch;
  fault.record.epoch += 1;
  fault.record.rank = -1;
  fault.record.expected = 5;
  fault.record.actual = 6;
  fault.to_verdict = std::nullopt;
  fault.arrivals_ns = {3, 4};
  second.arrivals_ns = {{{1}}, {{2}}};
  EXPECT_EQ(without_time(first, std::chrono::seconds(1)), without_time(second, std::chrono::seconds(2)));
  // ... and nothing else does: a difference in the result itself is seen.
  second.checked_bytes += 1;
  EXPECT_NE(without_time(first, std::chrono::seconds(1)), without_time(second, std::chrono::seconds(2)));
}

TEST(record_json, the_header_says_which_cases_were_asked_for) {
  run_description run{"2026-11-29T16:46:08Z", 3, 72, {"run", "u"}};
  run.selection.suites = {"u", "v"};
  run.selection.filter = "*x*";
  run.selection.tags = {"quick"};
  run.selection.ranks = 4;
  run.part = shard{2, 3};
  run.cases_digest = 0xAB;
  const auto out = nlohmann::json::parse(record_line(header_json(read_environment(), run)))["run"];
  EXPECT_EQ(out["selection"],
            nlohmann::json::parse(R"({"suites":["u","v"],"case":null,"filter":"*x*","tags":["quick"],"ranks":4})"));
  EXPECT_EQ(out["shard"], nlohmann::json::parse(R"({"index":2,"count":3})"));
  EXPECT_EQ(out["cases_digest"], "0xab");
}

TEST(record_json, the_header_names_the_gpus) {
  run_description run{"2026-11-29T16:46:08Z", 3, 72, {"run", "u"}};
  run.fabric = {fabric_kind::cuda, {"NVIDIA H200", "NVIDIA H200"}, "580.1"};
  const auto out = nlohmann::json::parse(record_line(header_json(read_environment(), run)))["run"];
  EXPECT_EQ(out["fabric"], "cuda");
  EXPECT_EQ(out["gpus"], (std::vector<std::string>{"NVIDIA H200", "NVIDIA H200"}));
  EXPECT_EQ(out["driver"], "580.1");
  EXPECT_NE(out["times"].get<std::string>().find("no benchmark"), std::string::npos);
  EXPECT_EQ(description_text(run.fabric), "cuda, 2 x NVIDIA H200, driver 580.1");
}

TEST(record_json, a_record_is_one_line_of_utf8_whatever_is_in_it) {
  auto result = sample_fail();
  result.reason = "two\nlines \xff and \x01";
  const auto line = record_line(case_json(sample_spec("s", "ranks=2"), result, 1, {}));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(line)["reason"], "two\nlines \xef\xbf\xbd and \x01");
}

TEST(record_json, the_header_knows_the_machine_and_the_build) {
  const auto out = nlohmann::json::parse(
      record_line(header_json(read_environment(), {"2026-11-29T16:46:08Z", 3, 72, {"run", "u"}})));
  EXPECT_EQ(out["record"], "header");
  EXPECT_EQ(out["schema"], 1);
  EXPECT_EQ(out["run"]["cases"], 72);
  EXPECT_EQ(out["run"]["seed"], 3);
  EXPECT_EQ(out["run"]["times"], "host fabric, not NVLink");
  EXPECT_EQ(out["run"]["arguments"], (std::vector<std::string>{"run", "u"}));
  EXPECT_TRUE(out["run"]["variables"].is_object());
  EXPECT_FALSE(out["run"]["variables"].contains("PATH"));
  EXPECT_EQ(out["run"]["shard"], nullptr);
  EXPECT_EQ(out["run"]["selection"]["suites"], nlohmann::json::array());
  EXPECT_EQ(out["run"]["selection"]["case"], nullptr);
  EXPECT_EQ(out["run"]["cases_digest"], "0x0");
  const auto& env = out["env"];
  EXPECT_GE(env["cpu_cores"].get<int>(), 1);
  EXPECT_GE(env["page_bytes"].get<int>(), 4096);
  EXPECT_GT(env["memory_bytes"].get<std::uint64_t>(), std::uint64_t{1} << 26);
  EXPECT_FALSE(env["library_version"].get<std::string>().empty());
  EXPECT_FALSE(env["compiler"].get<std::string>().empty());
  EXPECT_EQ(env["kernel"].get<std::string>().rfind("Linux ", 0), 0U);
  for (const auto* key : {"git_commit", "git_dirty", "cpu_model", "machine", "build_type", "sanitizers"}) {
    EXPECT_TRUE(env.contains(key)) << key;
  }
}

TEST(record_json, moments_are_utc) {
  EXPECT_EQ(utc_text(std::chrono::system_clock::from_time_t(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(std::chrono::system_clock::from_time_t(1'000'000'000)), "2001-09-09T01:46:40Z");
}

}  // namespace
}  // namespace switchyard::harness
