// SPDX-License-Identifier: Apache-2.0
// One case as its supervisor sees it: what the ranks have said of it so far, and what that comes to.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../run/case_state.hpp"
#include "../run/rank_group.hpp"

namespace switchyard::harness {

/// How a meeting ends, to be told to the ranks.
struct ended_meeting {
  meeting_point where = meeting_point::before_construction;
  bool well = false;
};

class supervised_case {
 public:
  using clock = std::chrono::steady_clock;

  explicit supervised_case(const case_spec& spec);

  /// Takes a message of a rank of the case. The meeting that it ends, if any. Throws for what is no message.
  std::optional<ended_meeting> hear(int rank, const nlohmann::json& message);
  /// The rank's process has ended, or cannot be reached: `how`.
  void note_end(int rank, const std::string& how);
  /// Whether the case itself ends that rank's process, which has come to its steps and has not been noted yet, and it
  /// is as it then must be: `lives` and `stopped`, or ended, `how`.
  [[nodiscard]] bool has_come_to_due_end(int rank, bool lives, bool stopped, const std::string& how) const;
  /// It has, by itself: meetings go on without it. Those that only it was missing from.
  std::vector<ended_meeting> note_due_end(int rank);

  /// From here on ranks leave because they are told to: how they do so blames nobody.
  void note_call_off() noexcept { called_off_ = true; }
  [[nodiscard]] bool was_called_off() const noexcept { return called_off_; }

  /// Whether nothing more will be heard from any rank.
  [[nodiscard]] bool all_heard() const;
  /// Or only that a rank waits for others.
  [[nodiscard]] bool all_heard_or_waiting() const;
  [[nodiscard]] bool is_heard(int rank) const { return ranks_[static_cast<std::size_t>(rank)].heard; }
  [[nodiscard]] bool any_ended() const { return !ends_.empty(); }
  /// Whether a rank will not run its part.
  [[nodiscard]] bool any_refused() const { return refusal_.has_value(); }
  [[nodiscard]] clock::time_point last_progress() const noexcept { return last_progress_; }
  /// By rank: whether it was not heard, and either waits for no other or is stopped. `stopped` is by rank, or empty.
  [[nodiscard]] std::vector<bool> silent(const std::vector<bool>& stopped) const;
  /// "rank 2 in dispatch of step 3, rank 4 in construction (its process is stopped)", of those that are silent.
  [[nodiscard]] std::string silent_ranks(const std::vector<bool>& stopped) const;
  /// Ranks whose records have one of those in `silent`, or one that has ended, as missing: "; missed by rank 0, rank
  /// 1".
  [[nodiscard]] std::string missed_by(const std::vector<bool>& silent) const;

  /// Of the case as it stands. `stuck` as of conclude().
  [[nodiscard]] case_result result(std::uint64_t seed, bool on_gpus,
                                   const std::function<bool(int rank, int other)>& one_clock,
                                   const std::string& stuck) const;

 private:
  struct told {
    bool heard = false;  ///< an outcome, a refusal, or its end
    bool ended_as_due = false;
    int position = -1;
    std::uint64_t progress = 0;
    std::array<bool, num_meeting_points> arrived{};
  };
  struct meeting_state {
    int arrived = 0;
    bool all_well = true;
    bool over = false;
  };
  [[nodiscard]] bool waits_for_others(const told& one) const;

  const case_spec& spec_;
  std::vector<told> ranks_;
  std::vector<rank_outcome> outcomes_;
  std::vector<step_traffic> traffic_;
  std::array<meeting_state, num_meeting_points> meetings_{};
  std::optional<case_result> refusal_;
  std::optional<std::string> lost_;
  bool called_off_ = false;
  std::vector<std::pair<int, std::string>> ends_;  ///< rank, and how
  clock::time_point last_progress_ = clock::now();
};

}  // namespace switchyard::harness
