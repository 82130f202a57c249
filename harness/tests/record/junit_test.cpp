// SPDX-License-Identifier: Apache-2.0
// JUnit XML: which element a status becomes, what is counted, and texts that are no XML.
#include "switchyard/harness/junit.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sample_results.hpp"

namespace switchyard::harness {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

case_result with_status(case_status status) {
  auto result = sample_fail();
  result.status = status;
  result.reason = "reason of " + std::string(to_string(status));
  if (status == case_status::pass) result = sample_pass(1, 1);
  return result;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(junit, a_testsuite_per_scenario_and_a_testcase_per_case) {
  junit_report report("switchyard run", 42);
  report.case_ended(sample_spec("a", "ranks=2"), sample_pass(1, 1), {"", std::chrono::milliseconds(1234)});
  report.case_ended(sample_spec("b", "ranks=2"), sample_fail(), {"", std::chrono::microseconds(6500)});
  report.case_ended(sample_spec("a", "ranks=3"), sample_pass(1, 1), {"", std::chrono::seconds(100)});
  EXPECT_EQ(report.text(), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="switchyard" tests="3" failures="1" errors="0" skipped="0" time="101.240">
  <testsuite name="u.a" tests="2" failures="0" errors="0" skipped="0" time="101.234">
    <testcase classname="u.a" name="u/a@ranks=2" time="1.234">
      <system-out>repeat: switchyard run --case u/a@ranks=2 --seed 42</system-out>
    </testcase>
    <testcase classname="u.a" name="u/a@ranks=3" time="100.000">
      <system-out>repeat: switchyard run --case u/a@ranks=3 --seed 42</system-out>
    </testcase>
  </testsuite>
  <testsuite name="u.b" tests="1" failures="1" errors="0" skipped="0" time="0.006">
    <testcase classname="u.b" name="u/b@ranks=2" time="0.006">
      <failure type="fail" message="1 finding">)" +
                               xml_escaped(describe(sample_fail().findings[0])) +
                               R"(&#10;and 3 findings more&#10;rank 1: rank 1 waited 201 ms for rank 0&#10;</failure>
      <system-out>repeat: switchyard run --case u/b@ranks=2 --seed 42</system-out>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(junit, every_status_has_its_element) {
  junit_report report("x", 1);
  for (unsigned i = 0; to_string(static_cast<case_status>(i)) != "unknown"; ++i) {
    report.case_ended(sample_spec("a", "ranks=2"), with_status(static_cast<case_status>(i)), {});
  }
  report.case_missing(sample_spec("a", "ranks=9"));
  const auto text = report.text();
  EXPECT_NE(text.find(R"(tests="9" failures="2" errors="4" skipped="2")"), std::string::npos) << text;
  for (const auto* type : {"fail", "timeout"}) {
    EXPECT_EQ(occurrences(text, "<failure type=\""s + type + "\" message=\"reason of " + type), 1U) << type;
  }
  for (const auto* type : {"crash", "device_lost", "missing"}) {
    EXPECT_EQ(occurrences(text, "<error type=\""s + type + "\" message=\"reason of " + type), 1U) << type;
  }
  EXPECT_EQ(occurrences(text, R"(<skipped message="waived: reason of waived")"), 1U) << text;
  EXPECT_EQ(occurrences(text, R"(<skipped message="skipped: reason of skipped")"), 1U) << text;
  EXPECT_EQ(occurrences(text, "the run ended before this case had a record"), 1U) << text;
}

TEST(junit, a_case_whose_record_was_lost_is_missing_once) {
  junit_report report("x", 1);
  const auto spec = sample_spec("a", "ranks=2");
  report.case_ended(spec, sample_pass(1, 1), {"", {}, case_record::origin::not_recorded});
  report.case_missing(spec);
  EXPECT_NE(report.text().find(R"(tests="1" failures="0" errors="1")"), std::string::npos);
}

TEST(junit, texts_that_are_no_xml) {
  EXPECT_EQ(xml_escaped("<a href=\"b\">&'c'</a>]]>"), "&lt;a href=&quot;b&quot;&gt;&amp;'c'&lt;/a&gt;]]&gt;");
  EXPECT_EQ(xml_escaped("a\tb\nc\r"), "a&#9;b&#10;c&#13;");
  EXPECT_EQ(xml_escaped("a\0b\x01\x1f\x7f"s), "ab\x7f");  // XML 1.0 allows 0x7F, discourages it
  EXPECT_EQ(xml_escaped("\uFFFE\uFFFF\uFFFD"), "\uFFFD");
  EXPECT_EQ(xml_escaped("ü漢😀"), "ü漢😀");
  EXPECT_EQ(xml_escaped("a\xffz\xed\xa0\x80"), "a\uFFFDz\uFFFD\uFFFD\uFFFD");
}

// Written for tools/tests/test_program_output.py, which reads it with two readers of XML; its name says so.
TEST(junit, a_hostile_report_for_other_readers) {
  const std::string hostile{"<&\"'>]]>\t\n\r\0\x01\x1f\x7f\xff\uFFFE\u202Eü漢😀"sv};
  auto result = sample_fail();
  result.reason = hostile;
  result.findings[0].detail = hostile;
  result.faults[0].message = hostile;
  junit_report report(hostile, 1);
  for (const auto status : {case_status::fail, case_status::crash, case_status::skipped}) {
    result.status = status;
    report.case_ended(sample_spec("a", "ranks=2"), result, {});
  }
  const auto path = std::filesystem::path(testing::TempDir()) / "switchyard_hostile_junit.xml";
  std::ofstream(path, std::ios::binary) << report.text();
  ASSERT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace switchyard::harness
