// SPDX-License-Identifier: Apache-2.0
#include "supervised_case.hpp"

#include <algorithm>
#include <string_view>

#include "messages.hpp"
#include "outcome_message.hpp"

namespace switchyard::harness {
namespace {

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

void append(std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; }

}  // namespace

supervised_case::supervised_case(const case_spec& spec)
    : spec_(spec),
      ranks_(static_cast<std::size_t>(spec.ep_size)),
      outcomes_(static_cast<std::size_t>(spec.ep_size)),
      traffic_(static_cast<std::size_t>(spec.steps)) {
  for (auto& outcome : outcomes_) outcome.times.resize(static_cast<std::size_t>(spec.steps));
}

std::optional<ended_meeting> supervised_case::hear(int rank, const nlohmann::json& message) {
  last_progress_ = clock::now();
  auto& one = ranks_.at(static_cast<std::size_t>(rank));
  const auto is = message.at("is").get<std::string_view>();
  if (is == say::beat) {
    one.position = message.at("position").get<int>();
  } else if (is == say::met || is == say::off) {
    const auto where = message.at("where").get<std::size_t>();
    auto& meeting = meetings_.at(where);
    if (meeting.over) return std::nullopt;
    if (is == say::met) {
      if (std::exchange(one.arrived.at(where), true)) return std::nullopt;
      meeting.all_well = meeting.all_well && message.at("well").get<bool>();
      if (++meeting.arrived < spec_.ep_size) return std::nullopt;
    }
    meeting.over = true;
    return ended_meeting{static_cast<meeting_point>(where), is == say::met && meeting.all_well};
  } else if (is == say::refused) {
    one.heard = true;
    case_result result;
    result.status = static_cast<case_status>(message.at("status").get<int>());
    result.reason = message.at("reason").get<std::string>();
    // A skip is every rank's; anything else is the one's that says it.
    if (result.status != case_status::skipped) result.reason = rank_text(rank) + ": " + result.reason;
    if (!refusal_ || refusal_->status == case_status::skipped) refusal_ = std::move(result);
  } else if (is == say::outcome) {
    auto& outcome = outcomes_.at(static_cast<std::size_t>(rank));
    read_outcome(message.at("found"), outcome);
    outcome.done = true;
    one.heard = true;
    one.position = outcome.position;
    if (const auto& lost = message.at("lost"); !lost.is_null() && !lost_) {
      lost_ = rank_text(rank) + ": " + lost.get<std::string>();
    }
    // Every rank makes the inputs of all; one that left early has those of later steps not.
    const auto traffic = read_traffic(message.at("traffic"));
    for (std::size_t step = 0; step < std::min(traffic.size(), traffic_.size()); ++step) {
      if (traffic_[step].max_rank_bytes == 0) traffic_[step] = traffic[step];
    }
  }
  return std::nullopt;
}

void supervised_case::note_end(int rank, const std::string& how) {
  auto& one = ranks_.at(static_cast<std::size_t>(rank));
  if (one.heard) return;
  one.heard = true;
  outcomes_[static_cast<std::size_t>(rank)].position = one.position;
  ends_.emplace_back(rank, how + " in " + place_text(one.position));
}

bool supervised_case::is_to_end(int rank) const {
  const auto& fault = spec_.inject;
  const auto& started = meetings_.at(static_cast<std::size_t>(meeting_point::after_construction));
  return fault && fault->ends_process() && fault->rank == rank && started.over && !is_heard(rank);
}

std::vector<ended_meeting> supervised_case::note_due_end(int rank) {
  auto& one = ranks_.at(static_cast<std::size_t>(rank));
  one.heard = true;
  one.position = after_all;
  outcomes_[static_cast<std::size_t>(rank)].done = true;  // and has found nothing
  last_progress_ = clock::now();
  std::vector<ended_meeting> ended;
  for (std::size_t where = 0; where < meetings_.size(); ++where) {
    auto& meeting = meetings_.at(where);
    if (meeting.over || std::exchange(one.arrived.at(where), true)) continue;
    if (++meeting.arrived < spec_.ep_size) continue;
    meeting.over = true;
    ended.push_back({static_cast<meeting_point>(where), meeting.all_well});
  }
  return ended;
}

bool supervised_case::all_heard() const {
  return std::ranges::all_of(ranks_, [](const told& one) { return one.heard; });
}

// It came to a meeting that others have not come to: they are the ones to look at.
bool supervised_case::waits_for_others(const told& one) const {
  for (std::size_t where = 0; where < meetings_.size(); ++where) {
    if (one.arrived.at(where) && !meetings_.at(where).over) return true;
  }
  return false;
}

std::vector<bool> supervised_case::silent() const {
  std::vector<bool> found;
  for (const auto& one : ranks_) found.push_back(!one.heard && !waits_for_others(one));
  return found;
}

std::string supervised_case::silent_ranks(const std::vector<bool>& stopped) const {
  std::string names;
  const auto is_silent = silent();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!is_silent[rank]) continue;
    auto text = rank_text(static_cast<int>(rank)) + " in " + place_text(ranks_[rank].position);
    if (stopped.at(rank)) text += " (its process is stopped)";
    append(names, text);
  }
  return names;
}

std::string supervised_case::missed_by(const std::vector<bool>& silent) const {
  std::string names;
  for (std::size_t rank = 0; rank < outcomes_.size(); ++rank) {
    const auto& outcome = outcomes_[rank];
    if (!outcome.done || !outcome.fault) continue;
    const auto misses = [&](int other) {
      return contains(outcome.fault->missing, other) || outcome.fault->rank == other;
    };
    bool is_named = std::ranges::any_of(ends_, [&](const auto& end) { return misses(end.first); });
    for (std::size_t other = 0; other < silent.size(); ++other) {
      is_named = is_named || (silent[other] && misses(static_cast<int>(other)));
    }
    if (is_named) append(names, rank_text(static_cast<int>(rank)));
  }
  return names.empty() ? "" : "; missed by " + names;
}

case_result supervised_case::result(std::uint64_t seed, bool on_gpus,
                                    const std::function<bool(int rank, int other)>& one_clock,
                                    const std::string& stuck) const {
  if (refusal_ && ends_.empty()) return *refusal_;
  auto result = unless_lost(conclude({spec_, seed, outcomes_, traffic_, on_gpus, one_clock}, stuck), lost_);
  if (ends_.empty() || result.status == case_status::device_lost) return result;
  result.status = case_status::crash;
  result.reason.clear();
  for (const auto& [rank, how] : ends_) append(result.reason, rank_text(rank) + ' ' + how);
  result.reason += missed_by(silent());
  return result;
}

}  // namespace switchyard::harness
