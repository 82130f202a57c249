// SPDX-License-Identifier: Apache-2.0
// A fabric one of whose ranks errs: it leaves out a launch, gets a mask that is not what it set, or sends a header that
// is not what it declares. Says so in public words alone, so that the harness can ask for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "switchyard/config.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::injection {

/// Set and cleared by the thread that calls the library, round a call that is to enqueue nothing. A call that
/// is captured leaves its launch out of the graph.
class launch_switch {
 public:
  void leave_out(bool launches) { leaves_out_.store(launches, std::memory_order_relaxed); }
  [[nodiscard]] bool leaves_out() const { return leaves_out_.load(std::memory_order_relaxed); }
  /// What is turned over in masks that are set from now on, behind the checks of the call that sets them.
  void spoil_masks(const rank_set& bits) { spoiled_bits_ = bits; }
  [[nodiscard]] rank_set spoiled(rank_set mask) const {
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] ^= spoiled_bits_[i];
    return mask;
  }

 private:
  std::atomic<bool> leaves_out_{false};
  rank_set spoiled_bits_{};
};

/// How a header is changed.
enum class header_change : std::uint8_t {
  bits,  ///< on its way to the peers, while the rank's own copy stays as it is: the word of `field` is another, and
         ///< where it must match, the digest with it; no field: the digest alone
  other_slot  ///< it goes where the header of the other phase is due, on this rank too, as if this were that phase
};
struct wrong_header {
  std::uint64_t step = 0;
  switchyard::phase phase = switchyard::phase::dispatch;
  header_change change = header_change::bits;
  step_field field = step_field::none;
};
/// What a changed word differs in: its lowest bit.
inline constexpr std::uint32_t wrong_bits = 1;

/// The built-in fabric of `kind` with this fault for the one rank that gets it. A header is changed on the host fabric
/// only, by blocks that err: throws unsupported for another.
std::shared_ptr<fabric> make_faulty_fabric(fabric_kind kind, std::shared_ptr<const launch_switch> launches,
                                           const std::optional<wrong_header>& header);

}  // namespace switchyard::injection
