// SPDX-License-Identifier: Apache-2.0
// From the failures of a run to small scenario files.
#include "switchyard/harness/random_run.hpp"

#include <array>
#include <cstdio>

#include "switchyard/harness/generator_random.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

/// A suite's name for the failure of a case: equal for equal ids, so that a second run writes the same file again.
std::string suite_name_for(const std::string& id) {
  std::uint64_t key = id.size();
  for (const char letter : id) key = key_of({key, static_cast<unsigned char>(letter)});
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "shrunk_%08llx", static_cast<unsigned long long>(key >> 32U));
  return name.data();
}

}  // namespace

void failure_collector::case_ended(const case_spec& spec, const case_result& result, const case_record& record) {
  if (record.from == case_record::origin::earlier_run) return;
  auto kind = failure_kind(result);
  if (kind.empty()) return;
  ++total_;
  if (first_.size() < most_) first_.push_back({spec, std::move(kind)});
}

small_failure make_small(const failure_collector::failure& found, const case_runner& run,
                         const make_small_options& options) {
  const auto end = std::chrono::steady_clock::now() + options.max_time;
  const auto still_fails = [&](const case_spec& spec) {
    try {
      return failure_kind(run(spec)) == found.kind;
    } catch (const out_of_memory&) {  // without a setting the rows can be wider than those of any drawn case
      return false;
    }
  };
  shrink_options how;
  how.max_runs = options.max_runs;
  how.stop_requested = [&] {
    return std::chrono::steady_clock::now() > end || (options.stop_requested && options.stop_requested());
  };
  small_failure result;
  result.drawn_id = found.spec.id;
  result.kind = found.kind;
  result.small = shrink(random_settings_of(found.spec.id), still_fails, how);
  const auto suite = suite_name_for(result.drawn_id);
  result.file_name = suite + ".json";
  result.file_text = scenario_file_text(
      result.small.settings, suite,
      "Fails with --seed " + std::to_string(options.seed) + ": " + result.kind + "; drawn as " + result.drawn_id + ".");
  return result;
}

std::string describe(const small_failure& failure) {
  const auto& small = failure.small;
  if (small.failed_attempts == 0) {
    return failure.kind + ": did not come back in " + std::to_string(small.attempts) + " more runs of " +
           failure.drawn_id;
  }
  auto text = failure.kind + ": made small in " + std::to_string(small.runs) + " runs: " + small.spec.id;
  if (small.failed_attempts < small.attempts) {
    text += " (the drawn case failed in " + std::to_string(small.failed_attempts) + " of " +
            std::to_string(small.attempts) + " more runs)";
  }
  return text;
}

}  // namespace switchyard::harness
