// SPDX-License-Identifier: Apache-2.0
// How the ranks of a case come together outside the exchange itself: where they wait for each other, and by which comm
// backends they make and mend it. Ranks are threads of this process, or processes.
#pragma once

#include <cstdint>
#include <memory>

#include "switchyard/comm_backend.hpp"

namespace switchyard::harness {

/// Where all ranks of a case wait for each other, in this order; the two of a recovery only in cases that have one.
enum class meeting_point : std::uint8_t {
  before_construction,  ///< every rank has been started
  after_construction,   ///< every rank has its guards: peers may store from here on
  before_recovery,      ///< nobody works any more
  after_recovery,       ///< as after_construction
  after_steps,          ///< all writing has ended
};
inline constexpr std::size_t num_meeting_points = 5;

/// Of one case. Thread-safe.
class rank_group {
 public:
  rank_group() = default;
  virtual ~rank_group() = default;
  rank_group(const rank_group&) = delete;
  rank_group& operator=(const rank_group&) = delete;

  /// Whether this process runs that rank.
  [[nodiscard]] virtual bool is_here(int rank) const noexcept = 0;
  /// Whether ranks are processes, so that none reaches another one's memory.
  [[nodiscard]] virtual bool of_processes() const noexcept = 0;

  /// Waits until every rank has come to `where`. True when all have come and all were well; false when one was not, or
  /// when the meeting was called off before all had come. Everybody gets the same answer, however late they look.
  virtual bool meet(meeting_point where, int rank, bool well) = 0;
  /// Nobody waits there any longer, nor those who come later. Does nothing once all have come.
  virtual void call_off(meeting_point where) = 0;

  /// This rank's, of the whole group. To be called by all ranks, which may wait for each other in it.
  virtual std::shared_ptr<comm_backend> backend(int rank) = 0;
  /// The same of a new one, which is for what happens before `step`; once for each rank and step.
  virtual std::shared_ptr<comm_backend> backend_before(int step, int rank) = 0;
};

/// Ranks that are threads of this process, all of them.
std::shared_ptr<rank_group> make_thread_group(int ep_size);

}  // namespace switchyard::harness
