// SPDX-License-Identifier: Apache-2.0
// Writing a case and reading it back changes nothing.
#include "switchyard/harness/recorded_case.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_results.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {
namespace {

nlohmann::json sample_record(const case_result& result) {
  return nlohmann::json::parse(
      record_line(case_json(sample_spec("s", "ranks=2"), result, 18446744073709551615U, std::chrono::seconds(3))));
}

std::string refused(const nlohmann::json& record) {
  try {
    parse_case_record(record, {"r.jsonl: record 2", ""});
  } catch (const input_error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(recorded_case, comes_back_as_it_was) {
  auto fail = sample_fail();
  auto& fault = fail.faults.front();
  fault.record.field = step_field::row_count;
  fault.record.awaited = awaited::rows;
  fault.record.from_notice = 1;
  fault.record.expected = ~std::uint64_t{0};
  insert(fault.record.missing, 255);
  fail.arrivals_ns = {{{1, not_arrived}, {2, 3}}, {{4, 5}, {6, most_arrival_ns}}};
  auto quantised = sample_pass(7, 8);
  quantised.low_precision_error = {
      .elements = 9, .left_out = 1, .max_relative = 0.1, .mean_relative = 1.0 / 3, .rms_relative = 1e-9};
  for (const auto& result : {fail, sample_pass(7, 8), quantised, case_result{}}) {
    const auto record = sample_record(result);
    const auto back = parse_case_record(record, {"r", ""});
    EXPECT_EQ(back.id, "u/s@ranks=2");
    EXPECT_EQ(back.seed, 18446744073709551615U);
    EXPECT_EQ(back.elapsed, std::chrono::seconds(3));
    EXPECT_EQ(record_line(case_json(sample_spec("s", "ranks=2"), back.result, back.seed, back.elapsed)),
              record_line(case_json(sample_spec("s", "ranks=2"), result, back.seed, back.elapsed)));
  }
}

TEST(recorded_case, every_status_verdict_and_code_comes_back) {
  auto result = sample_fail();
  for (unsigned i = 0; to_string(static_cast<case_status>(i)) != "unknown"; ++i) {
    result.status = static_cast<case_status>(i);
    EXPECT_EQ(parse_case_record(sample_record(result), {"r", ""}).result.status, result.status);
  }
  for (unsigned i = 0; to_string(static_cast<verdict>(i)) != "unknown"; ++i) {
    result.findings[0].verdict = static_cast<verdict>(i);
    EXPECT_EQ(parse_case_record(sample_record(result), {"r", ""}).result.findings[0].verdict, static_cast<verdict>(i));
  }
  for (unsigned i = 0; to_string(static_cast<fault_code>(i)) != "unknown"; ++i) {
    result.faults[0].record.code = static_cast<fault_code>(i);
    EXPECT_EQ(parse_case_record(sample_record(result), {"r", ""}).result.faults[0].record.code,
              static_cast<fault_code>(i));
  }
}

TEST(recorded_case, what_is_no_record_of_a_case_is_refused_with_its_place) {
  const auto whole = sample_record(sample_fail());
  const auto changed = [&](const std::string& pointer, const nlohmann::json& value) {
    auto record = whole;
    record[nlohmann::json::json_pointer(pointer)] = value;
    return refused(record);
  };
  EXPECT_EQ(changed("/status", "fine"), R"(r.jsonl: record 2: /status: "fine": unknown word)");
  EXPECT_EQ(changed("/status", "unknown"), R"(r.jsonl: record 2: /status: "unknown": unknown word)");
  EXPECT_EQ(changed("/seed", -1), "r.jsonl: record 2: /seed: -1: must be an integer from 0 to 18446744073709551615");
  EXPECT_EQ(changed("/findings/0/expected", "12"),
            R"(r.jsonl: record 2: /findings/0/expected: "12": must be 64 bits in hexadecimal, such as 0x1f)");
  EXPECT_EQ(changed("/time/faults/0/missing/1", 256),
            "r.jsonl: record 2: /time/faults/0/missing/1: 256: must be an integer from 0 to 255");
  EXPECT_EQ(changed("/time/faults", nlohmann::json::array()),
            "r.jsonl: record 2: /time/faults: must be as long as /faults");
  EXPECT_EQ(changed("/time/combine_ns", {1}), "r.jsonl: record 2: /time/combine_ns: must be as long as dispatch_ns");
  EXPECT_EQ(refused(nlohmann::json::array()), "r.jsonl: record 2: []: must be an object");
}

}  // namespace
}  // namespace switchyard::harness
