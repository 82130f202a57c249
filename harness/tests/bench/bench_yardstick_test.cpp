// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_yardstick.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"
#include "switchyard/harness/bench_nccl.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_yardstick, the_fastest_that_is_right_is_named_and_the_wrong_ones_too) {
  const std::vector all{sample_nccl(nccl_memory::plain, 1, 8, 20), sample_nccl(nccl_memory::registered, 0, 9, 18),
                        sample_failed_nccl(nccl_memory::symmetric_window)};
  const auto figures = figures_of(all, nccl_scheme::all_gather, sample_shape(), 16);
  EXPECT_EQ(figures.dispatch, (nccl_best{{nccl_memory::plain, 1}, 8}));
  EXPECT_EQ(figures.round_trip, (nccl_best{{nccl_memory::registered, 0}, 18}));
  EXPECT_EQ(figures.failed,
            std::vector<std::string>{"symmetric_window, graph mixing 0: sums of rank 1 are wrong in 3 places"});
}

TEST(bench_yardstick, other_points_shapes_and_schemes_do_not_count) {
  const std::vector all{sample_nccl(nccl_memory::plain, 1, 8, 20)};
  EXPECT_FALSE(figures_of(all, nccl_scheme::all_gather, sample_shape(), 32).round_trip);
  EXPECT_FALSE(figures_of(all, nccl_scheme::send_receive, sample_shape(), 16).round_trip);
  auto other = sample_shape();
  other.dispatch_format = dispatch_format::mxfp8;
  EXPECT_FALSE(figures_of(all, nccl_scheme::all_gather, other, 16).round_trip);
}

TEST(bench_yardstick, nothing_right_is_null_never_zero) {
  const auto json = nccl_best_json({sample_failed_nccl(nccl_memory::plain)}, sample_shape(), 16);
  EXPECT_TRUE(json["all_gather"]["round_trip"].is_null());
  EXPECT_TRUE(json["send_receive"]["dispatch"].is_null());
  EXPECT_EQ(json["all_gather"]["failed"].size(), 1U);
}

TEST(bench_yardstick, a_measurement_comes_back_from_its_line) {
  for (const auto& one : {sample_nccl(nccl_memory::registered, 0, 9, 18), sample_failed_nccl(nccl_memory::plain)}) {
    EXPECT_EQ(nccl_measurement_from(nlohmann::json::parse(to_json(one).dump())), one);
  }
  nccl_library library{"2.28.9", {}, {"NCCL_NVLS_ENABLE=0"}};
  const auto back = nccl_library_from(nlohmann::json::parse(to_json(library).dump()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->version, "2.28.9");
  EXPECT_EQ(back->environment, library.environment);
}

TEST(bench_yardstick, lines_of_others_and_torn_ones_are_nothing) {
  for (const auto* text : {R"(3)", R"({"record":"bench_point"})", R"({"record":"bench_nccl"})", "torn",
                           R"({"record":"bench_nccl","tokens":1,"scheme":"broadcast","memory":"plain"})"}) {
    const auto record = nlohmann::json::parse(text, nullptr, false);
    EXPECT_FALSE(nccl_measurement_from(record)) << text;
    EXPECT_FALSE(nccl_library_from(record)) << text;
  }
}

class kept final : public nccl_observer {
 public:
  void note(const std::string& line) override { notes.push_back(line); }
  void nccl_found(const nccl_library& used) override { libraries.push_back(used); }
  void measured(const nccl_measurement& one) override { measurements.push_back(one); }
  std::vector<std::string> notes;
  std::vector<nccl_library> libraries;
  std::vector<nccl_measurement> measurements;
};

/// A shell that stands for the program: prints a library, then a measurement with its own graph mixing.
std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

std::string line_of(const nccl_library& library) { return "echo '" + to_json(library).dump() + "'; "; }

TEST(bench_yardstick, each_graph_mixing_has_a_process_of_its_own) {
  auto line = to_json(sample_nccl(nccl_memory::plain, 7, 8, 20)).dump();
  const std::string mixing = R"("graph_mixing":)";
  line.replace(line.find(mixing + '7'), mixing.size() + 1, mixing + "'$NCCL_GRAPH_MIXING_SUPPORT'");
  kept observer;
  const auto library = collect_nccl_yardsticks(shell(line_of({"2.28.9", {}, {}}) + "echo '" + line + "'"),
                                               std::chrono::seconds(10), observer);
  EXPECT_EQ(library.version, "2.28.9");
  EXPECT_EQ(library.why_not, "");
  ASSERT_EQ(observer.measurements.size(), 2U);
  EXPECT_EQ(observer.measurements[0].variant.graph_mixing, 1);
  EXPECT_EQ(observer.measurements[1].variant.graph_mixing, 0);
}

TEST(bench_yardstick, without_nccl_one_process_says_why) {
  kept observer;
  const auto library =
      collect_nccl_yardsticks(shell(line_of({{}, "no such file", {}})), std::chrono::seconds(10), observer);
  EXPECT_EQ(library.version, "");
  EXPECT_EQ(library.why_not, "no such file");
  ASSERT_EQ(observer.libraries.size(), 1U);
  EXPECT_TRUE(observer.measurements.empty());
  EXPECT_NE(nccl_table({}, {}, library, {}).find("null (no such file)"), std::string::npos);
}

TEST(bench_yardstick, what_was_said_before_a_failure_is_kept) {
  kept observer;
  const auto line = to_json(sample_nccl(nccl_memory::plain, 1, 8, 20)).dump();
  const auto library = collect_nccl_yardsticks(shell(line_of({"2.28.9", {}, {}}) + "echo '" + line + "'; exit 6"),
                                               std::chrono::seconds(10), observer);
  EXPECT_EQ(observer.measurements.size(), 2U);
  EXPECT_EQ(library.why_not, "NCCL_GRAPH_MIXING_SUPPORT=0: ended with exit code 6");
  EXPECT_EQ(observer.notes.size(), 2U);
}

TEST(bench_yardstick, a_silent_process_is_killed) {
  kept observer;
  const auto library = collect_nccl_yardsticks({"/bin/sleep", "30"}, std::chrono::seconds(0), observer);
  EXPECT_NE(library.why_not.find("was killed"), std::string::npos) << library.why_not;
  EXPECT_EQ(library.version, "");
}

TEST(bench_yardstick, a_program_that_is_not_there_is_no_yardstick) {
  kept observer;
  const auto library = collect_nccl_yardsticks({"/no/such/program"}, std::chrono::seconds(1), observer);
  EXPECT_NE(library.why_not.find("/no/such/program cannot be run"), std::string::npos) << library.why_not;
}

}  // namespace
}  // namespace switchyard::harness
