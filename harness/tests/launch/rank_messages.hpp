// SPDX-License-Identifier: Apache-2.0
// What ranks say to their supervisor, as tests have them say it.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "messages.hpp"
#include "outcome_message.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness::rank_says {

using nlohmann::json;

inline json met(meeting_point where, bool well = true) {
  return {{"is", say::met}, {"where", static_cast<int>(where)}, {"well", well}};
}

inline json off(meeting_point where) { return {{"is", say::off}, {"where", static_cast<int>(where)}}; }

inline json beat(int step, phase which) {
  return {{"is", say::beat}, {"progress", 1}, {"position", 2 * step + static_cast<int>(which)}};
}

inline json refused(case_status status, const std::string& reason) {
  return {{"is", say::refused}, {"status", static_cast<int>(status)}, {"reason", reason}};
}

/// A rank that has run all steps of the case and found nothing, but for what `change` does to it.
inline json outcome(
    const case_spec& spec, const std::function<void(rank_outcome&)>& change = [](rank_outcome&) {},
    const std::vector<step_traffic>& traffic = {}, const std::optional<std::string>& lost = {}) {
  rank_outcome found;
  found.times.resize(static_cast<std::size_t>(spec.steps));
  found.steps_ended = spec.steps;
  found.position = after_all;
  change(found);
  return {{"is", say::outcome},
          {"found", outcome_json(found)},
          {"traffic", traffic_json(traffic)},
          {"lost", lost ? json(*lost) : json()}};
}

/// For `change`: the rank has waited for `missing` in the dispatch of `step`, for the whole of the deadline.
inline std::function<void(rank_outcome&)> missing_rank(const case_spec& spec, int missing, int step) {
  return [&spec, missing, step](rank_outcome& found) {
    auto& fault = found.fault.emplace();
    fault.code = fault_code::timeout;
    fault.phase = phase::dispatch;
    fault.awaited = awaited::header;
    fault.origin = missing == 0 ? 1 : 0;
    fault.timeout_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(spec.timeout).count());
    fault.waited_ns = fault.timeout_ns;
    fault.entered_ns = 1;
    insert(fault.missing, missing);
    fault.arrival_ns.fill(not_arrived);
    found.steps_ended = step;
    found.position = 2 * step;
  };
}

}  // namespace switchyard::harness::rank_says
