// SPDX-License-Identifier: Apache-2.0
// What bench and tune make of points, told to them as a bench tells them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench_output.hpp"
#include "switchyard/spec/errors.hpp"
#include "tune_output.hpp"

namespace switchyard::tools {
namespace {

using harness::bench_transport;

/// 30 launches of two ranks, the second 1 % faster; alternately a little above and below the time.
harness::bench_point point_of(std::int64_t tokens, bench_transport asked, transport taken, double us) {
  harness::bench_point point;
  point.tokens = tokens;
  point.asked = asked;
  point.taken = taken;
  point.taken_because = "of the test";
  point.round_trip_us.resize(2);
  for (int i = 0; i < 30; ++i) {
    const double one = us + (i % 4 < 2 ? 0.01 : -0.01);
    point.round_trip_us[0].push_back(one);
    point.round_trip_us[1].push_back(one * 0.99);
  }
  point.cold_us = point.eager_us = point.round_trip_us;
  point.dispatch.spans.kernel_us = point.combine.spans.kernel_us = {us / 2};
  return point;
}

harness::link_yardstick link() {
  harness::link_yardstick link;
  link.push_both_ways_gb_s = 366;
  link.flag_latency_us = 0.7;
  link.empty_node_us = 0.5;
  return link;
}

harness::bench_options options_of(std::vector<bench_transport> transports) {
  harness::bench_options options;
  options.profile = "deepseek_v3";
  options.tokens = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  options.transports = std::move(transports);
  return options;
}

/// Straight lines that cross between 87 and 88 tokens.
double time_of(bench_transport which, std::int64_t tokens) {
  const auto count = static_cast<double>(tokens);
  return which == bench_transport::fence ? 14 + 0.06 * count : 5.25 + 0.16 * count;
}

/// As run_bench does it.
harness::exit_code tuned(tune_output& output, const harness::bench_options& options,
                         double (*time)(bench_transport, std::int64_t), std::vector<std::int64_t>& measured) {
  output.machine({{{"a GPU", {}}}, {}, "no library", {}, {}});
  output.link(link());
  for (auto due = options.tokens; !due.empty(); due = output.further_tokens()) {
    for (const auto tokens : due) {
      measured.push_back(tokens);
      output.point(point_of(tokens, bench_transport::fence, transport::fence, time(bench_transport::fence, tokens)));
      output.point(
          point_of(tokens, bench_transport::lamport, transport::lamport, time(bench_transport::lamport, tokens)));
    }
  }
  return output.conclude();
}

TEST(tune, narrows_the_crossing_down_and_says_what_to_set) {
  const auto options = options_of({bench_transport::fence, bench_transport::lamport});
  tune_output output(options, tune_form::text);
  std::vector<std::int64_t> measured;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(tuned(output, options, time_of, measured), harness::exit_code::all_passed);
  const auto out = testing::internal::GetCapturedStdout();
  const auto progress = testing::internal::GetCapturedStderr();
  EXPECT_EQ((std::vector<std::int64_t>(measured.begin() + 11, measured.end())),
            (std::vector<std::int64_t>{80, 96, 112, 84, 88, 92}));
  EXPECT_NE(out.find("set one_sided_config::lamport_max_tokens = 84 (the default is "), std::string::npos) << out;
  EXPECT_NE(out.find("because:\n  84 tokens: lamport 18.70 us"), std::string::npos) << out;
  EXPECT_NE(out.find("  88 tokens: lamport 19.34 us"), std::string::npos) << out;
  EXPECT_NE(progress.find("  112 tokens: lamport 23.18 us"), std::string::npos) << progress;
}

TEST(tune, as_json_prints_lines_and_nothing_else) {
  const auto options = options_of({bench_transport::fence, bench_transport::lamport});
  tune_output output(options, tune_form::json);
  std::vector<std::int64_t> measured;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  (void)tuned(output, options, time_of, measured);
  (void)testing::internal::GetCapturedStderr();
  std::istringstream lines(testing::internal::GetCapturedStdout());
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0]["record"], "bench_header");
  EXPECT_EQ(records[1]["record"], "bench_link");
  EXPECT_EQ(records[2]["record"], "bench_tune");
  EXPECT_EQ(records[2]["lamport_max_tokens"], 84);
  EXPECT_EQ(records[2]["points"].size(), 17U);
}

TEST(tune, is_inconclusive_when_no_threshold_is_right_everywhere) {
  const auto options = options_of({bench_transport::fence, bench_transport::lamport});
  tune_output output(options, tune_form::text);
  std::vector<std::int64_t> measured;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto twice = [](bench_transport which, std::int64_t tokens) {
    return which == bench_transport::fence || tokens == 4 ? 20.0 + (which == bench_transport::fence ? 0 : 5)
                                                          : time_of(which, tokens);
  };
  EXPECT_EQ(tuned(output, options, twice, measured), harness::exit_code::inconclusive);
  (void)testing::internal::GetCapturedStderr();
  const auto out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("with this one, steps of 4 tokens are slower"), std::string::npos) << out;
}

TEST(tune, is_inconclusive_when_no_step_goes_by_lamport) {
  const auto options = options_of({bench_transport::fence, bench_transport::lamport});
  tune_output output(options, tune_form::text);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  output.point(point_of(4, bench_transport::fence, transport::fence, 14));
  output.point(point_of(4, bench_transport::lamport, transport::fence, 14));
  EXPECT_TRUE(output.further_tokens().empty());
  EXPECT_EQ(output.conclude(), harness::exit_code::inconclusive);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("goes by lamport: of the test"), std::string::npos);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("nothing to set"), std::string::npos);
}

/// What a bench of these transports prints at 64 and 128 tokens, lamport being faster at 64; the records it writes.
std::string concluded(const std::vector<bench_transport>& transports, std::vector<nlohmann::json>& records) {
  const auto path = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
  const auto options = options_of(transports);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    bench_output output(options, {}, path);
    output.link(link());
    for (const std::int64_t tokens : {64, 128}) {
      for (const auto which : transports) {
        const auto taken = which == bench_transport::lamport || (which != bench_transport::fence && tokens == 64)
                               ? transport::lamport
                               : transport::fence;
        const auto as = taken == transport::lamport ? bench_transport::lamport : bench_transport::fence;
        output.point(point_of(tokens, which, taken, time_of(as, tokens)));
      }
    }
    output.conclude();
  }
  (void)testing::internal::GetCapturedStderr();
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
  std::filesystem::remove(path);
  return testing::internal::GetCapturedStdout();
}

TEST(bench_output, transports_have_rows_records_a_crossover_and_a_check) {
  std::vector<nlohmann::json> records;
  const auto out = concluded({bench_transport::fence, bench_transport::lamport, bench_transport::automatic}, records);
  for (const auto* const row : {"| 64 | fence | 17.85 |", "| 64 | lamport | 15.50 |", "| 64 | auto: lamport | 15.50 |",
                                "| 128 | lamport | 25.74 |", "| 128 | auto: fence | 21.69 |"}) {
    EXPECT_NE(out.find(row), std::string::npos) << row << '\n' << out;
  }
  EXPECT_NE(out.find("\ncrossover: 64 tokens: the most at which lamport is at most fence\n"), std::string::npos) << out;
  EXPECT_NE(
      out.find("\nauto: within max(5 %, 0.3 us, A/A noise) of the better of fence and lamport at all of 2 points\n"),
      std::string::npos)
      << out;
  ASSERT_EQ(records.size(), 9U);  // link, points, crossover, check
  EXPECT_EQ(records[2]["transport"], "lamport");
  EXPECT_EQ(records[7]["record"], "bench_crossover");
  EXPECT_EQ(records[7]["tokens"], 64);
  EXPECT_EQ(records[8]["record"], "bench_auto_check");
  EXPECT_EQ(records[8]["within"], true);
}

// 16 tokens of two shapes by two transports: lamport is faster for the one, fence for the other.
TEST(bench_output, a_grid_has_a_summary_and_a_crossover_of_every_shape) {
  const auto path = testing::TempDir() + "grid.jsonl";
  auto options = options_of({bench_transport::fence, bench_transport::lamport});
  options.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 16, .hidden_size = 7168};
  const auto bf16 = harness::shape_of(options.params, low_precision::none);
  auto mxfp8 = bf16;
  mxfp8.dispatch_format = dispatch_format::mxfp8;
  options.shapes = {bf16, mxfp8};
  const auto at = [](const harness::bench_shape& shape, bench_transport asked, double us, std::uint64_t bytes) {
    auto point = point_of(16, asked, asked == bench_transport::fence ? transport::fence : transport::lamport, us);
    point.shape = shape;
    point.dispatch.bytes.remote_bytes = bytes;
    return point;
  };
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    bench_output output(options, {}, path);
    output.link(link());
    output.point(at(bf16, bench_transport::fence, 20, 14336));
    output.point(at(bf16, bench_transport::lamport, 16, 14336));
    output.point(at(mxfp8, bench_transport::fence, 10, 7392));
    output.point(at(mxfp8, bench_transport::lamport, 12, 7392));
    for (const auto& shape : options.shapes) {
      output.measured({16, harness::nccl_scheme::all_gather, {}, {}, {{5}, {5}}, {{15}, {15}}, shape});
    }
    output.conclude();
  }
  (void)testing::internal::GetCapturedStderr();
  const auto out = testing::internal::GetCapturedStdout();
  for (const auto* const text :
       {"yardsticks: slower beyond max(5 %, 0.3 us, A/A noise) in 1 of 2 round trips\n"
        "  hidden 7168, top-8 of 256, bf16, 16 tokens: fence 20.01 us, all_gather 15.00 us, allowed 15.75 us\n",
        "| hidden 7168, top-8 of 256, mxfp8 | 16 | fence | 5.00 | 10.00 | 0.500 | 0.516 |\n",
        "| hidden 7168, top-8 of 256, mxfp8 | 16 | lamport | 6.00 | 8.00 | 0.750 | 0.516 |\n",
        "\nhidden 7168, top-8 of 256, bf16\ncrossover: beyond the last point: lamport is at most fence at 16 tokens\n",
        "\nhidden 7168, top-8 of 256, mxfp8\ncrossover: none"}) {
    EXPECT_NE(out.find(text), std::string::npos) << text << '\n' << out;
  }
  std::ifstream file(path);
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
  std::filesystem::remove(path);
  ASSERT_EQ(records.size(), 12U);  // link, 4 points, 2 of NCCL, 2 best, grid, 2 crossovers
  EXPECT_EQ(records[9]["record"], "bench_grid");
  EXPECT_EQ(records[10]["shape"]["dispatch_format"], nullptr);
  EXPECT_EQ(records[11]["shape"]["dispatch_format"], "mxfp8");
}

TEST(bench_output, one_transport_has_nothing_to_cross) {
  std::vector<nlohmann::json> records;
  EXPECT_EQ(concluded({bench_transport::automatic}, records).find("crossover"), std::string::npos);
  EXPECT_EQ(records.size(), 3U);
  records.clear();
  const auto out = concluded({bench_transport::lamport, bench_transport::fence}, records);
  EXPECT_NE(out.find("crossover: 64 tokens"), std::string::npos);
  EXPECT_EQ(out.find("auto"), std::string::npos);
}

TEST(bench_output, variants_have_lines_and_records_of_their_own_and_no_rows) {
  auto options = options_of({bench_transport::automatic});
  options.variants = {harness::bench_variant::unchecked};
  const auto path = testing::TempDir() + "variants.jsonl";
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    bench_output output(options, {}, path);
    output.link(link());
    auto point = point_of(64, bench_transport::automatic, transport::lamport, 15);
    output.point(point);
    point.variant = harness::bench_variant::unchecked;
    output.point(point);
    output.conclude();
  }
  const auto progress = testing::internal::GetCapturedStderr();
  const auto out = testing::internal::GetCapturedStdout();
  EXPECT_NE(progress.find("  auto, unchecked: "), std::string::npos) << progress;
  EXPECT_EQ(out.find("| 64 |"), out.rfind("| 64 |")) << out;
  EXPECT_NE(out.find("\nunchecked, auto, 64 tokens: "), std::string::npos) << out;
  std::vector<nlohmann::json> records;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
  std::filesystem::remove(path);
  ASSERT_EQ(records.size(), 3U);  // link, point, comparison
  EXPECT_EQ(records[1]["record"], "bench_point");
  EXPECT_EQ(records[2]["record"], "bench_variant");
  EXPECT_EQ(records[2]["difference_us"], 0);
  EXPECT_EQ(records[2]["within"], true);
}

TEST(bench_output, what_goes_wrong_while_measuring_is_one_line) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(measure_or_tell("tune", [] {}));
  EXPECT_FALSE(measure_or_tell("tune", [] { throw harness::wrong_result("row 3"); }));
  EXPECT_FALSE(measure_or_tell("bench", [] { throw cuda_error("no such device"); }));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "switchyard: tune: wrong result, no time is told: row 3\nswitchyard: bench: no such device\n");
}

}  // namespace
}  // namespace switchyard::tools
