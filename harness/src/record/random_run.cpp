// SPDX-License-Identifier: Apache-2.0
// The run of drawn cases.
#include "switchyard/harness/random_run.hpp"

#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

/// A failure as it happened, before it is small.
struct failure {
  std::uint64_t number = 0;  ///< of the draw
  std::string kind;
};

shrunk_failure make_small(const failure& found, const random_run_options& options, const case_runner& run) {
  const auto end = std::chrono::steady_clock::now() + options.shrink_time;
  const auto still_fails = [&](const case_spec& spec) {
    try {
      return failure_kind(run(spec)) == found.kind;
    } catch (const out_of_memory&) {  // without a setting the rows can be wider than those of the drawn case
      return false;
    }
  };
  shrink_options how;
  how.max_runs = options.max_shrink_runs;
  how.stop_requested = [&] {
    return std::chrono::steady_clock::now() > end || (options.stop_requested && options.stop_requested());
  };
  const auto settings = draw_settings(options.seed, found.number, options.limits);
  shrunk_failure result;
  result.drawn_id = random_case_of(settings).id;
  result.kind = found.kind;
  result.small = shrink(settings, still_fails, how);
  const auto suite = "shrunk_" + std::to_string(options.seed) + '_' + std::to_string(found.number);
  result.file_name = suite + ".json";
  result.file_text = scenario_file_text(
      result.small.settings, suite,
      "Fails with --seed " + std::to_string(options.seed) + ": " + found.kind + "; drawn as " + result.drawn_id + ".");
  return result;
}

}  // namespace

random_run run_random(const random_run_options& options, const case_runner& run, record_writer& records,
                      progress& shown) {
  const auto cases = draw_cases(options.seed, options.count, options.limits);
  std::vector<failure> found;
  std::size_t failures = 0;
  std::uint64_t number = 0;  // run_cases takes them in order and each once
  const auto watch = [&](const case_spec& spec) {
    const auto drawn = number++;
    auto result = run(spec);
    if (auto kind = failure_kind(result); !kind.empty()) {
      if (++failures <= options.max_shrunk) found.push_back({drawn, std::move(kind)});
    }
    return result;
  };
  random_run result;
  result.summary = run_cases(cases, watch, records, shown, {options.seed, options.stop_requested});
  for (const auto& one : found) {
    result.shrunk.push_back(make_small(one, options, run));
    shown.note(describe(result.shrunk.back()));
  }
  result.not_shrunk = failures - found.size();
  return result;
}

std::string describe(const shrunk_failure& failure) {
  const auto& small = failure.small;
  if (small.failed_attempts == 0) {
    return failure.kind + ": did not come back in " + std::to_string(small.attempts) + " more runs of " +
           failure.drawn_id;
  }
  auto text = failure.kind + ": made small in " + std::to_string(small.runs) + " runs: " + small.spec.id;
  if (small.failed_attempts < small.attempts) {
    text += " (the drawn case failed in " + std::to_string(small.failed_attempts) + " of " +
            std::to_string(small.attempts) + " runs)";
  }
  return text;
}

}  // namespace switchyard::harness
