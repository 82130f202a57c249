// SPDX-License-Identifier: Apache-2.0
// Forms and counts; other people's readers take the files in test_gate.py.
#include "switchyard/harness/gate/exports.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "sample_files.hpp"
#include "switchyard/harness/gate/compare.hpp"

namespace switchyard::harness::gate {
namespace {

/// One of every verdict.
gate_result every_verdict() {
  gate_result result;
  for (std::size_t i = 0; i < num_gate_verdicts; ++i) {
    scenario_verdict one;
    one.verdict = static_cast<gate_verdict>(i);
    one.id = "bench/x@tokens=" + std::to_string(i);
    one.reason = "because \"<&>\", perhaps";
    result.scenarios.push_back(one);
  }
  auto waived = result.scenarios[1];
  waived.id = "bench/x@waived";
  waived.waived_by = "somebody";
  result.scenarios.push_back(waived);
  return result;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(exports, junit_never_passes_what_the_gate_does_not) {
  const auto text = junit_of(every_verdict());
  EXPECT_EQ(count_of(text, R"(tests="7" failures="2" errors="2" skipped="1")"), 2U) << text;
  EXPECT_EQ(count_of(text, "<testcase"), 7U);
  EXPECT_NE(text.find(R"(<failure type="regressed" message="because &quot;&lt;&amp;&gt;&quot;, perhaps"/>)"),
            std::string::npos);
  EXPECT_NE(text.find(R"(<error type="inconclusive")"), std::string::npos);
  EXPECT_NE(text.find(R"(<skipped message="waived (somebody): because)"), std::string::npos);
  EXPECT_NE(text.find(R"(classname="bench/x" name="bench/x@tokens=0")"), std::string::npos);
}

TEST(exports, junit_of_nothing_is_an_error) {
  EXPECT_NE(junit_of({}).find(R"(tests="1" failures="0" errors="1")"), std::string::npos);
  gate_result differ;
  differ.keys_differ = "2 GPUs and 4";
  EXPECT_NE(junit_of(differ).find(R"(<error type="inconclusive" message="2 GPUs and 4"/>)"), std::string::npos);
  gate_result crashed;
  crashed.failures = {"launch 3 ended by signal 9"};
  EXPECT_NE(junit_of(crashed).find(R"(failures="1")"), std::string::npos);
}

TEST(exports, csv_quotes_what_needs_it) {
  const auto text = csv_of(every_verdict());
  EXPECT_EQ(count_of(text, "\r\n"), 8U);
  EXPECT_NE(text.find("bench/x@tokens=1,regressed,0,0,,,,,,,,,,,,,\"because \"\"<&>\"\", perhaps\"\r\n"),
            std::string::npos)
      << text;
}

TEST(exports, openmetrics_has_a_state_set_and_an_end) {
  const auto text = openmetrics_of(every_verdict());
  EXPECT_EQ(count_of(text, "} 1\n"), 7U);
  EXPECT_EQ(count_of(text, "switchyard_verdict{"), 7 * num_gate_verdicts);
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(exports, numbers_are_those_of_the_verdict) {
  const auto file = own_folder() / "f.jsonl";
  const auto base = read_samples(write_lines(file, whole_file({{"a", 20}})));
  const auto current = read_samples(write_lines(file, whole_file({{"a", 22}})));
  const auto result = compare_sets(base, current, {});
  EXPECT_NE(csv_of(result).find("a,regressed,10,10,20.045,22.045,2,1.97,2.03,"), std::string::npos) << csv_of(result);
  EXPECT_NE(openmetrics_of(result).find("switchyard_time_seconds{scenario=\"a\",side=\"current\"} 2.2045e-05\n"),
            std::string::npos);
  EXPECT_EQ(count_of(csv_of(base), "\r\n"), 11U);
  EXPECT_NE(csv_of(base).find("a,1,20.07\r\n"), std::string::npos);
  const auto google = nlohmann::json::parse(google_benchmark_of(base));
  ASSERT_EQ(google["benchmarks"].size(), 10U);
  EXPECT_EQ(google["benchmarks"][1]["real_time"], 20.07);
  EXPECT_EQ(google["benchmarks"][1]["repetition_index"], 1);
  EXPECT_FALSE(google["context"].contains("host_name"));
}

}  // namespace
}  // namespace switchyard::harness::gate
