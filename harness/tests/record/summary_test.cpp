// SPDX-License-Identifier: Apache-2.0
// The table and the summary file.
#include "switchyard/harness/summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sample_results.hpp"

namespace switchyard::harness {
namespace {

run_summary mixed() {
  run_summary summary;
  summary.add(sample_spec("first", "ranks=2"), sample_pass(1500, 2'500'000));
  summary.add(sample_spec("first", "ranks=3"), sample_pass(1400, 2'600'000));
  summary.add(sample_spec("second", "ranks=2"), sample_fail());
  summary.add_missing(sample_spec("third", "ranks=2"));
  return summary;
}

TEST(summary, the_table_has_a_line_per_scenario_and_a_column_per_status_that_occurs) {
  std::ostringstream out;
  print_table(out, mixed());
  EXPECT_EQ(out.str(),
            "suite  scenario  cases  pass  fail  missing  checked  max dispatch  max combine\n"
            "u      first         2     2     0        0  2.00 MB       1.50 us      2.60 ms\n"
            "u      second        1     0     1        0  1.00 MB         10 ns        10 ns\n"
            "u      third         1     0     0        1      0 B             -            -\n"
            "times: host fabric, not NVLink; the slowest step of the slowest rank\n");
}

TEST(summary, the_file_names_what_did_not_pass_and_keeps_times_apart) {
  auto out = nlohmann::json::parse(to_json(mixed(), 7).dump());
  EXPECT_EQ(out["seed"], 7);
  EXPECT_EQ(out["exit_code"], 2);
  EXPECT_EQ(out["cases"]["pass"], 2);
  EXPECT_EQ(out["cases"]["fail"], 1);
  EXPECT_EQ(out["cases"]["missing"], 1);
  EXPECT_EQ(out["cases"]["waived"], 0);
  EXPECT_EQ(out["scenarios"][0]["checked_bytes"], 2'000'000);
  EXPECT_EQ(out["not_passed"], nlohmann::json::parse(R"([{"id": "u/second@ranks=2", "status": "fail"},
                                                         {"id": "u/third@ranks=2", "status": "missing"}])"));
  EXPECT_EQ(out["time"]["scenarios"][0]["worst_dispatch_ns"], 1500);
  EXPECT_EQ(out["time"]["scenarios"][2]["worst_dispatch_ns"], nullptr);
  out.erase("time");
  EXPECT_EQ(out.dump().find("_ns"), std::string::npos);
}

TEST(summary, numbers_have_three_digits_and_a_unit) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1000), "1.00 us");
  EXPECT_EQ(duration_text(12'345), "12.3 us");
  EXPECT_EQ(duration_text(999'400), "999 us");
  EXPECT_EQ(duration_text(999'600), "1.00 ms");
  EXPECT_EQ(duration_text(300'000'000'000), "300 s");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1'234'567), "1.23 MB");
  EXPECT_EQ(bytes_text(98'765'432'109), "98.8 GB");
}

}  // namespace
}  // namespace switchyard::harness
