// SPDX-License-Identifier: Apache-2.0
// Two hundred drawn cases on the host fabric, and the books of a run of drawn cases with runners made by hand.
#include "switchyard/harness/random_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "memory_sink.hpp"
#include "switchyard/harness/progress.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/scenario_file.hpp"
#include "switchyard/harness/sweep.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

/// A run of drawn cases with all that belongs to it.
struct fixture {
  std::string lines;
  std::ostringstream told;
  std::vector<small_failure> small;
  std::size_t failures = 0;

  run_summary run(const std::vector<case_spec>& cases, std::uint64_t seed, std::size_t most,
                  const case_runner& runner) {
    record_writer records(std::make_unique<memory_sink>(lines));
    progress shown(told, {});
    failure_collector found(most);
    observer_list both({&shown, &found});
    suite_run_options how;
    how.seed = seed;
    auto summary = run_cases(cases, runner, records, both, how);
    failures = found.total();
    for (const auto& one : found.first()) {
      small.push_back(make_small(one, runner, {.seed = seed}));
      told << describe(small.back()) << '\n';
    }
    return summary;
  }
  [[nodiscard]] auto records() const { return std::count(lines.begin(), lines.end(), '\n'); }
};

class drawn_cases : public testing::TestWithParam<std::uint64_t> {};

// A failure prints the small case as a scenario file.
TEST_P(drawn_cases, pass_on_the_host_fabric) {
  constexpr std::uint64_t count = 25;
  const auto seed = GetParam();
  arena memory(random_limits{}.max_bytes);
  fixture f;
  const auto summary = f.run(draw_cases(seed, count), seed, 3, [&](const case_spec& spec) {
    run_options options;
    options.seed = seed;
    return run_case(spec, memory, options);
  });
  EXPECT_EQ(f.records(), count);
  EXPECT_EQ(summary.code(), exit_code::all_passed) << f.told.str();
  for (const auto& failure : f.small) ADD_FAILURE() << failure.file_name << ":\n" << failure.file_text;
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
  const auto summary = f.run(draw_cases(5, 40), 5, 2, three_ranks);
  EXPECT_EQ(f.records(), 40);
  ASSERT_EQ(f.small.size(), 2U);
  EXPECT_EQ(summary.not_passed().size(), f.failures);
  EXPECT_GT(f.failures, 2U);
  for (const auto& failure : f.small) {
    EXPECT_EQ(failure.kind, "fail loss");
    EXPECT_EQ(failure.small.spec.id, "random/drawn@hidden_size=1,num_experts=3,ranks=3,steps=1,tokens=0,top_k=1");
    EXPECT_NE(f.told.str().find("fail loss: made small in"), std::string::npos);
    const auto suite = parse_suite(failure.file_text, failure.file_name);
    EXPECT_EQ(expand(suite, {}).size(), 1U);
    EXPECT_EQ(suite.scenarios.front().sentence, "Fails with --seed 5: fail loss; drawn as " + failure.drawn_id + ".");
  }
  EXPECT_NE(f.small[0].file_name, f.small[1].file_name);
}

// Another kind of failure in the smaller case is another bug.
TEST(random_run, keeps_to_the_kind_of_failure_that_was_found) {
  fixture f;
  const auto runner = [](const case_spec& spec) {
    return failing(spec.params.hidden_size >= 4 ? verdict::stale : verdict::overrun);
  };
  f.run(draw_cases(1, 20, {.max_ranks = 1}), 1, 20, runner);
  ASSERT_EQ(f.small.size(), 20U);
  std::set<std::string> kinds;
  for (const auto& failure : f.small) {
    kinds.insert(failure.kind);
    EXPECT_EQ(failure.small.spec.params.hidden_size, failure.kind == "fail stale" ? 4 : 1);
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"fail overrun", "fail stale"}));
}

TEST(random_run, passes_over_candidates_that_need_too_much_memory) {
  fixture f;
  bool first = true;
  const auto runner = [&](const case_spec&) {
    if (!std::exchange(first, false)) throw out_of_memory("too large");
    return failing(verdict::loss);
  };
  f.run(draw_cases(1, 1), 1, 1, runner);
  ASSERT_EQ(f.small.size(), 1U);
  EXPECT_EQ(f.small.front().small.failed_attempts, 0);
  EXPECT_NE(f.told.str().find("fail loss: did not come back in 3 more runs of random/drawn@"), std::string::npos);
}

TEST(random_run, says_how_often_a_failure_comes) {
  fixture f;
  int runs = 0;
  f.run(draw_cases(1, 1), 1, 1,
        [&](const case_spec&) { return ++runs == 1 || runs == 3 ? failing(verdict::loss) : case_result{}; });
  EXPECT_NE(f.told.str().find("(the drawn case failed in 1 of 3 more runs)"), std::string::npos) << f.told.str();
}

TEST(random_run, shrinks_nothing_after_a_stop_and_nothing_that_was_not_run) {
  failure_collector found(5);
  const auto spec = draw_case(1, 1);
  case_result stopped;
  stopped.status = case_status::missing;
  found.case_ended(spec, stopped, {});
  found.case_ended(spec, failing(verdict::loss), {"", {}, case_record::origin::earlier_run});
  EXPECT_EQ(found.total(), 0U);
  found.case_ended(spec, failing(verdict::loss), {});
  ASSERT_EQ(found.first().size(), 1U);
  int runs = 0;
  const auto small = make_small(found.first().front(), [&](const case_spec&) { return ++runs, case_result{}; },
                                {.stop_requested = [] { return true; }});
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(small.small.spec.id, spec.id);
}

}  // namespace
}  // namespace switchyard::harness
