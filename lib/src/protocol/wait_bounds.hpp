// SPDX-License-Identifier: Apache-2.0
// How a wait is bounded, and how it ends.
#pragma once

#include <cstdint>

#include "layout/notice_words.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::protocol {

enum class wait_status : std::uint8_t {
  ready,
  notice,   ///< a peer, or abort(), has told this rank of a fault
  expired,  ///< the phase's deadline has passed
  probed,   ///< the caller's probe asked to stop
};

/// What ends a wait besides its condition, and what it is for.
struct wait_bounds {
  const std::uint64_t* notice = nullptr;  ///< this rank's notice word
  std::uint32_t incarnation = 0;          ///< tag of a notice that counts
  std::uint64_t deadline_ns = 0;          ///< on the clock of now_ns()
  awaited what = awaited::nothing;
};

/// Whether what was read from bounds.notice ends a wait.
template <bool may_mask>
SWITCHYARD_DEVICE bool is_told(const wait_bounds& bounds, std::uint64_t word) {
  return layout::is_heard<may_mask>(word, bounds.notice, bounds.incarnation);
}
/// Of a wait that its probe ends.
constexpr wait_bounds no_bounds(awaited what) { return {nullptr, 0, ~std::uint64_t{0}, what}; }

}  // namespace switchyard::protocol
