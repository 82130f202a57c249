// SPDX-License-Identifier: Apache-2.0
#include "supervised_case.hpp"

#include <algorithm>
#include <string_view>

#include "messages.hpp"
#include "outcome_message.hpp"

namespace switchyard::harness {
namespace {

constexpr int ended = after_all - 1;  // in place of a position: of a process that is gone

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
  auto& one = ranks_.at(static_cast<std::size_t>(rank));
  const auto is = message.at("is").get<std::string_view>();
  if (is == say::beat) {
    one.position = message.at("position").get<int>();
    const auto progress = message.at("progress").get<std::uint64_t>();
    if (progress == one.progress) return std::nullopt;  // a process whose case hangs still says that it lives
    one.progress = progress;
  }
  last_progress_ = clock::now();
  if (is == say::met || is == say::off) {
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
  if (one.ended_as_due || one.position == ended) return;
  const bool was_heard = std::exchange(one.heard, true);
  const auto place = was_heard ? "behind its last step" : "in " + place_text(one.position);
  one.position = ended;
  if (called_off_) return;
  ends_.emplace_back(rank, how + ' ' + place);
}

bool supervised_case::has_come_to_due_end(int rank, bool lives, bool stopped, const std::string& how) const {
  const auto& fault = spec_.inject;
  const auto& started = meetings_.at(static_cast<std::size_t>(meeting_point::after_construction));
  if (!fault || fault->rank != rank || !started.over || is_heard(rank) || called_off_) return false;
  switch (fault->kind) {
    case fault_kind::kill: return !lives && how.find("signal 9 ") != std::string::npos;
    case fault_kind::vanish: return !lives && how == "exited";
    case fault_kind::halt: return lives && stopped;
    default: return false;
  }
}

std::vector<ended_meeting> supervised_case::note_due_end(int rank) {
  auto& one = ranks_.at(static_cast<std::size_t>(rank));
  one.heard = true;
  one.ended_as_due = true;
  one.position = after_all;
  outcomes_[static_cast<std::size_t>(rank)].done = true;  // and has found nothing
  last_progress_ = clock::now();
  std::vector<ended_meeting> over;
  for (std::size_t where = 0; where < meetings_.size(); ++where) {
    auto& meeting = meetings_.at(where);
    if (meeting.over || std::exchange(one.arrived.at(where), true)) continue;
    if (++meeting.arrived < spec_.ep_size) continue;
    meeting.over = true;
    over.push_back({static_cast<meeting_point>(where), meeting.all_well});
  }
  return over;
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

bool supervised_case::all_heard_or_waiting() const {
  return std::ranges::all_of(ranks_, [this](const told& one) { return one.heard || waits_for_others(one); });
}

std::vector<bool> supervised_case::silent(const std::vector<bool>& stopped) const {
  std::vector<bool> found;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const bool is_stopped = !stopped.empty() && stopped.at(rank);
    found.push_back(!ranks_[rank].heard && (is_stopped || !waits_for_others(ranks_[rank])));
  }
  return found;
}

std::string supervised_case::silent_ranks(const std::vector<bool>& stopped) const {
  std::string names;
  const auto is_silent = silent(stopped);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!is_silent[rank]) continue;
    auto text = rank_text(static_cast<int>(rank)) + " in " + place_text(ranks_[rank].position);
    if (!stopped.empty() && stopped.at(rank)) text += " (its process is stopped)";
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
  if (refusal_ && ends_.empty()) {
    auto refused = *refusal_;
    if (all_heard()) return refused;
    refused.status = case_status::timeout;
    refused.reason += "; others did not leave the case then: " + silent_ranks({});
    return refused;
  }
  auto result = unless_lost(conclude({spec_, seed, outcomes_, traffic_, on_gpus, one_clock}, stuck), lost_);
  if (ends_.empty() || result.status == case_status::device_lost) return result;
  result.status = case_status::crash;
  result.reason.clear();
  for (const auto& [rank, how] : ends_) append(result.reason, rank_text(rank) + ' ' + how);
  result.reason += missed_by(silent({}));
  return result;
}

}  // namespace switchyard::harness
