// SPDX-License-Identifier: Apache-2.0
// The gathered load statistics against those that the ranks gave.
#include <algorithm>
#include <span>
#include <string>

#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/verifier.hpp"

namespace switchyard::harness {
namespace {

using statistics_row = std::span<const std::int32_t>;

statistics_row row_of(statistics_row all, std::size_t length, int rank) {
  const auto first = static_cast<std::size_t>(rank) * length;
  return first + length <= all.size() ? all.subspan(first, length) : statistics_row();
}

bool same(statistics_row a, statistics_row b) { return std::ranges::equal(a, b); }

/// Whether the row still is what the step before had been left: see rank_runner::poison_views.
bool is_unwritten(statistics_row row, int step) {
  const auto poison = std::to_integer<std::uint32_t>(poison_byte(step - 1)) * 0x01010101U;
  return std::ranges::all_of(row, [&](std::int32_t each) { return static_cast<std::uint32_t>(each) == poison; });
}

}  // namespace

// One finding for each source whose row is wrong.
void rank_verifier::check_statistics(const step_inputs& inputs, const dispatch_result& views, finding_log& log) {
  const auto due = inputs.gathered_statistics();
  const statistics_row told = views.eplb_gathered_stats;
  std::rotate(statistics_.begin(), statistics_.end() - 1, statistics_.end());
  statistics_.front().assign(due.begin(), due.end());
  const auto length = static_cast<std::size_t>(inputs.plan().eplb_stats_length);
  checked_bytes_ += due.size_bytes();
  if (told.size() != due.size()) {
    return log.add({.verdict = verdict::wrong_count,
                    .step = inputs.step(),
                    .destination = rank_,
                    .buffer = "eplb_gathered_stats",
                    .expected = due.size(),
                    .actual = told.size(),
                    .detail = "how many there are in all"});
  }
  for (int source = 0; source < inputs.ep_size(); ++source) {
    const auto is = row_of(told, length, source);
    const auto should_be = row_of(due, length, source);
    if (same(is, should_be)) continue;
    const auto first = static_cast<std::size_t>(std::ranges::mismatch(is, should_be).in1 - is.begin());
    finding found{.verdict = verdict::wrong_count,
                  .step = inputs.step(),
                  .source = source,
                  .destination = rank_,
                  .buffer = "eplb_gathered_stats",
                  .byte = static_cast<std::int64_t>(4 * first),
                  .expected = static_cast<std::uint32_t>(should_be[first]),
                  .actual = static_cast<std::uint32_t>(is[first]),
                  .count = 0};
    for (std::size_t i = first; i < length; ++i) found.count += is[i] == should_be[i] ? 0 : sizeof(is[i]);
    if (is_unwritten(is, inputs.step())) {
      found.verdict = verdict::loss;
      found.detail = "never written";
      log.add(std::move(found));
      continue;
    }
    for (int other = 0; other < inputs.ep_size() && found.detail.empty(); ++other) {
      if (!same(is, row_of(due, length, other))) continue;
      found.verdict = verdict::misplacement;
      found.detail = "the statistics of rank " + std::to_string(other);
    }
    for (std::size_t age = 1; age < statistics_.size() && found.detail.empty(); ++age) {
      if (!same(is, row_of(statistics_.at(age), length, source))) continue;
      found.verdict = verdict::stale;
      found.detail = "the statistics of this rank in step " + std::to_string(inputs.step() - static_cast<int>(age));
    }
    log.add(std::move(found));
  }
}

}  // namespace switchyard::harness
