// SPDX-License-Identifier: Apache-2.0
// Where a replayed step keeps the views of its dispatch until the CPU checks them: by then peers may be storing the
// next step's rows into the views themselves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {

/// What the CPU decides anew for each replay, in memory of the device.
struct replay_words {
  std::uint64_t poison = 0;  ///< eight times the byte
  std::uint64_t pause_ns = 0;
};

/// Offsets in a block of the device, each a multiple of 64.
struct kept_views {
  explicit kept_views(const case_spec& spec);

  std::array<std::size_t, all_payloads.size()> payloads{};
  std::size_t counts = 0;
  std::size_t dropped_routes = 0;
  std::size_t statistics = 0;  ///< as they were gathered
  std::size_t words = 0;       ///< replay_words
  std::size_t end = 0;
};

}  // namespace switchyard::harness
