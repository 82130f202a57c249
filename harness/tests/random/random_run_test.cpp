// SPDX-License-Identifier: Apache-2.0
// Two hundred drawn cases on the host fabric, and the books of a run of drawn cases with runners made by hand.
#include "switchyard/harness/random_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "memory_sink.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/scenario_file.hpp"
#include "switchyard/harness/sweep.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

struct fixture {
  std::string lines;
  std::ostringstream told;

  random_run run(const random_run_options& options, const case_runner& runner) {
    record_writer records(std::make_unique<memory_sink>(lines));
    progress shown(told, {});
    return run_random(options, runner, records, shown);
  }
  [[nodiscard]] auto records() const { return std::count(lines.begin(), lines.end(), '\n'); }
};

class drawn_cases : public testing::TestWithParam<std::uint64_t> {};

// A failure prints the small case as a scenario file.
TEST_P(drawn_cases, pass_on_the_host_fabric) {
  constexpr std::uint64_t count = 25;
  random_run_options options{.seed = GetParam(), .count = count};
  arena memory(options.limits.max_bytes);
  fixture f;
  const auto result = f.run(options, [&](const case_spec& spec) { return run_case(spec, memory, {options.seed, {}}); });
  EXPECT_EQ(f.records(), count);
  EXPECT_EQ(result.summary.code(), exit_code::all_passed) << f.told.str();
  for (const auto& failure : result.shrunk) ADD_FAILURE() << failure.file_name << ":\n" << failure.file_text;
}

INSTANTIATE_TEST_SUITE_P(of_seed, drawn_cases, testing::Range<std::uint64_t>(1, 9),
                         [](const auto& one) { return std::to_string(one.param); });

case_result failing(verdict how) {
  case_result result;
  result.status = case_status::fail;
  result.reason = "by hand";
  result.findings.push_back({.verdict = how});
  result.total_findings = 1;
  return result;
}

TEST(random_run, makes_the_first_failures_small_and_counts_the_others) {
  fixture f;
  const auto three_ranks = [](const case_spec& spec) {
    return spec.ep_size >= 3 ? failing(verdict::loss) : case_result{};
  };
  const auto result = f.run({.seed = 5, .count = 40, .max_shrunk = 2}, three_ranks);
  EXPECT_EQ(f.records(), 40);
  ASSERT_EQ(result.shrunk.size(), 2U);
  EXPECT_EQ(result.summary.not_passed().size(), 2U + result.not_shrunk);
  EXPECT_GT(result.not_shrunk, 0U);
  for (const auto& failure : result.shrunk) {
    EXPECT_EQ(failure.kind, "fail loss");
    EXPECT_EQ(failure.small.spec.id, "random/drawn@hidden_size=1,num_experts=3,ranks=3,steps=1,tokens=0,top_k=1");
    EXPECT_NE(f.told.str().find("fail loss: made small in"), std::string::npos);
    const auto suite = parse_suite(failure.file_text, failure.file_name);
    EXPECT_EQ(expand(suite, {}).size(), 1U);
    EXPECT_NE(suite.scenarios.front().sentence.find("--seed 5: fail loss; drawn as " + failure.drawn_id),
              std::string::npos);
  }
  const auto number = result.shrunk.front().file_name.substr(std::string("shrunk_5_").size());
  EXPECT_EQ(draw_case(5, std::stoull(number)).id, result.shrunk.front().drawn_id);
}

// Another kind of failure in the smaller case is another bug.
TEST(random_run, keeps_to_the_kind_of_failure_that_was_found) {
  fixture f;
  const auto runner = [](const case_spec& spec) {
    return failing(spec.params.hidden_size >= 4 ? verdict::stale : verdict::overrun);
  };
  random_limits limits{.max_ranks = 1};
  const auto result = f.run({.seed = 1, .count = 20, .limits = limits, .max_shrunk = 20}, runner);
  ASSERT_EQ(result.shrunk.size(), 20U);
  std::set<std::string> kinds;
  for (const auto& failure : result.shrunk) {
    kinds.insert(failure.kind);
    EXPECT_EQ(failure.small.spec.params.hidden_size, failure.kind == "fail stale" ? 4 : 1);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"fail overrun", "fail stale"}));
}

TEST(random_run, passes_over_candidates_that_need_too_much_memory) {
  fixture f;
  const auto runner = [first = true](const case_spec&) mutable {
    if (!std::exchange(first, false)) throw out_of_memory("too large");
    return failing(verdict::loss);
  };
  const auto result = f.run({.seed = 1, .count = 1}, runner);
  ASSERT_EQ(result.shrunk.size(), 1U);
  EXPECT_EQ(result.shrunk.front().small.failed_attempts, 0);
  EXPECT_NE(f.told.str().find("fail loss: did not come back in 3 more runs of random/drawn@"), std::string::npos);
}

TEST(random_run, says_how_often_a_failure_comes) {
  fixture f;
  int runs = 0;
  const auto result = f.run({.seed = 1, .count = 1}, [&](const case_spec&) {
    return ++runs == 1 || runs == 3 ? failing(verdict::loss) : case_result{};
  });
  EXPECT_NE(f.told.str().find("(the drawn case failed in 1 of 3 runs)"), std::string::npos) << f.told.str();
}

TEST(random_run, stops_when_asked) {
  fixture f;
  int runs = 0;
  const auto runner = [&](const case_spec&) { return ++runs, failing(verdict::loss); };
  const auto result = f.run({.seed = 1, .count = 10, .stop_requested = [&] { return runs >= 3; }}, runner);
  EXPECT_EQ(f.records(), 3);
  EXPECT_EQ(runs, 3) << "nothing is shrunk after a stop";
  EXPECT_EQ(result.summary.outcome().count(case_status::missing), 7U);
}

}  // namespace
}  // namespace switchyard::harness
