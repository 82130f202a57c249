// SPDX-License-Identifier: Apache-2.0
// The inputs of the last few steps, shared by the ranks of a case.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/rank_inputs.hpp"

namespace switchyard::harness {

/// Payload bytes of one step that cross between ranks.
struct step_traffic {
  std::uint64_t remote_bytes = 0;    ///< of all ranks
  std::uint64_t returned_bytes = 0;  ///< of their expert outputs
  std::uint64_t max_rank_bytes = 0;  ///< max over ranks of max(sent, received)
};

/// A ring of step_inputs. The inputs of a step are made once, by the first rank that comes; a slot is reused when every
/// rank has finished the step in it. So the checks never hold ranks closer together than `depth` steps, while the
/// protocol itself lets them be one phase apart.
class step_ring {
 public:
  static constexpr int most_depth = 4;
  static int depth_of(const case_spec& spec) noexcept;
  static std::size_t footprint(const case_spec& spec);

  step_ring(const case_spec& spec, std::uint64_t seed, std::pmr::memory_resource& memory);

  /// The inputs of `step`; valid until this rank finishes it. Null once stop() was called.
  const step_inputs* acquire(int step);
  /// This rank uses the inputs of `step` no more.
  void finish(int rank, int step);
  /// This rank uses no inputs any more.
  void leave(int rank);
  /// Wakes everyone who waits; acquire() returns null from now on.
  void stop();

  /// Of steps 0 .. steps - 1 that were made. Precondition: nobody is in acquire().
  [[nodiscard]] const std::vector<step_traffic>& traffic() const noexcept { return traffic_; }

 private:
  struct slot {
    explicit slot(const case_spec& spec, std::pmr::memory_resource& memory) : inputs(spec, memory) {}
    step_inputs inputs;
    int step = -1;
    bool in_the_making = false;
  };
  [[nodiscard]] int finished_by_all() const;
  void make(slot& where, int step, std::unique_lock<std::mutex>& lock);

  std::uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<slot> slots_;
  std::vector<int> finished_;  // number of steps that each rank is done with
  bool stopped_ = false;
  std::vector<step_traffic> traffic_;
};

}  // namespace switchyard::harness
