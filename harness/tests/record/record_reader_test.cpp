// SPDX-License-Identifier: Apache-2.0
// Records read back: whole, torn at every byte, and spoilt.
#include "switchyard/harness/record_reader.hpp"

#include <gtest/gtest.h>

#include "sample_results.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

std::string header_line(std::size_t cases) {
  return record_line(header_json(read_environment(), {"2026-11-29T16:46:08Z", 5, cases, {"run", "u"}})) + '\n';
}

std::string case_line(const std::string& settings) {
  return record_line(case_json(sample_spec("s", settings), sample_pass(10, 20), 5, std::chrono::nanoseconds(99))) +
         '\n';
}

std::string refused(const std::string& text) {
  try {
    parse_records(text, "r.jsonl");
  } catch (const input_error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(record_reader, whole_records) {
  const auto records = parse_records(header_line(2) + case_line("ranks=2") + case_line("ranks=4"), "r.jsonl");
  EXPECT_EQ(records.header["run"]["seed"], 5);
  ASSERT_EQ(records.cases.size(), 2U);
  EXPECT_EQ(records.cases[1]["id"], "u/s@ranks=4");
  EXPECT_EQ(records.torn_lines, 0U);
  EXPECT_EQ(records.missing_cases, 0U);
}

TEST(record_reader, a_last_line_torn_anywhere_is_dropped_and_counted) {
  const auto whole = header_line(2) + case_line("ranks=2");
  const auto last = case_line("ranks=4");
  for (std::size_t kept = 1; kept < last.size(); ++kept) {
    const auto records = parse_records(whole + last.substr(0, kept), "r.jsonl");
    ASSERT_EQ(records.cases.size(), 1U) << kept;
    ASSERT_EQ(records.torn_lines, 1U) << kept;
    ASSERT_EQ(records.missing_cases, 1U) << kept;
  }
}

TEST(record_reader, what_is_no_records_is_refused) {
  EXPECT_EQ(refused(""), "r.jsonl: no records: not one whole line");
  EXPECT_EQ(refused(header_line(1).substr(0, 50)), "r.jsonl: no records: not one whole line");
  EXPECT_EQ(refused("{}\n"), "r.jsonl: record 1: /record: missing");
  EXPECT_EQ(refused(case_line("ranks=2")), R"(r.jsonl: record 1: /record: "case": must be header on the first line)");
  EXPECT_EQ(refused(header_line(1) + header_line(1)),
            R"(r.jsonl: record 2: /record: "header": must be case after the first line)");
  EXPECT_EQ(refused(R"({"record": "header", "schema": 2})"
                    "\n"),
            "r.jsonl: record 1: /schema: 2: must be 1");
  EXPECT_EQ(refused(header_line(2) + R"({"record": "case", "id": 3})" + "\n"),
            "r.jsonl: record 2: /id: 3: must be a text");
  EXPECT_EQ(refused(header_line(2) + "\n" + case_line("ranks=2")), "r.jsonl: record 2: empty file");
  EXPECT_EQ(refused(header_line(2) + case_line("ranks=2").substr(0, 40) + "\n" + case_line("ranks=4"))
                .rfind("r.jsonl: record 2: line 1, column 41: not JSON: ", 0),
            0U);
}

}  // namespace
}  // namespace switchyard::harness
