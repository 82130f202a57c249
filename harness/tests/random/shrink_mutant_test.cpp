// SPDX-License-Identifier: Apache-2.0
// The whole way of a random failure: a library that does wrong is found by drawn cases, the failure is made small, and
// the scenario file that comes of it fails with the wrong library and passes with the right one.
#include <gtest/gtest.h>

#include <algorithm>

#include "injection/injecting_host_fabric.hpp"
#include "memory_sink.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/random_run.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/scenario_file.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness {
namespace {

using injection::effect;
using injection::mutation;
using injection::operation;

constexpr std::uint64_t run_seed = 1;
constexpr std::uint64_t num_cases = 200;  // most go by lamport, which puts no rows

random_limits small_limits() {
  random_limits limits{.max_ranks = 4, .max_hidden = 128, .max_tokens = 40, .max_steps = 6};
  limits.max_work_bytes = std::size_t{1} << 20;
  limits.faults_per_mille = 0;
  return limits;
}

/// Runs cases with a library that does `wrong` to each of them from the start.
class wrong_library {
 public:
  explicit wrong_library(const mutation& wrong) : wrong_(wrong), memory_(small_limits().max_bytes) {}

  case_result operator()(const case_spec& spec) {
    run_options how;
    how.seed = run_seed;
    const auto plan = std::make_shared<injection::injector>(wrong_);
    how.make_fabric = [&](int) { return injection::make_injecting_host_fabric(plan); };
    return run_case(spec, memory_, how);
  }

 private:
  mutation wrong_;
  arena memory_;
};

run_summary run_drawn(wrong_library& run, run_observer& shown, std::string& lines) {
  record_writer records(std::make_unique<memory_sink>(lines));
  suite_run_options how;
  how.seed = run_seed;
  return run_cases(draw_cases(run_seed, num_cases, small_limits()), std::ref(run), records, shown, how);
}

// The last byte of the third row that rank 1 sends to rank 0 is missing: it takes two ranks, and three rows between
// them.
TEST(shrink_mutant, a_wrong_library_is_found_and_the_failure_made_small) {
  const mutation wrong{.op = operation::put,
                       .what = effect::shorten,
                       .amount = 1,
                       .region = layout::region::hidden_states,
                       .rank = 1,
                       .peer = 0,
                       .skip_first = 2};
  wrong_library run(wrong);
  std::string lines;
  failure_collector found(1);
  const auto summary = run_drawn(run, found, lines);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), num_cases) << "one record for each case";
  ASSERT_EQ(found.first().size(), 1U);
  EXPECT_EQ(found.total(), summary.not_passed().size());

  const auto failure = make_small(found.first().front(), std::ref(run), {.seed = run_seed});
  EXPECT_EQ(failure.small.failed_attempts, failure.small.attempts);
  EXPECT_EQ(failure.small.spec.ep_size, 2);
  EXPECT_EQ(failure.small.spec.params.hidden_size, 1);
  EXPECT_LE(failure.small.settings.size(), 8U) << failure.file_text;

  const auto suite = parse_suite(failure.file_text, failure.file_name);
  const auto cases = expand(suite, {});
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(failure_kind(run(cases.front())), failure.kind) << failure.file_text;
  arena memory(required_bytes(cases.front()));
  run_options plain;
  plain.seed = run_seed;
  EXPECT_EQ(run_case(cases.front(), memory, plain).status, case_status::pass) << failure.file_text;
}

TEST(shrink_mutant, a_right_library_passes) {
  wrong_library run({.at_most = 0});
  std::string lines;
  failure_collector found(1);
  EXPECT_EQ(run_drawn(run, found, lines).code(), exit_code::all_passed);
  EXPECT_TRUE(found.first().empty());
}

}  // namespace
}  // namespace switchyard::harness
