// SPDX-License-Identifier: Apache-2.0
// What a case will move, without running it.
#pragma once

#include <cstdint>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// A case of 2^20 steps of 256 ranks can be asked for that moves more; it stops here, so that sums do not wrap.
inline constexpr std::uint64_t max_forecast_bytes = std::uint64_t{1} << 62;

struct traffic_forecast {
  std::uint64_t remote_bytes = 0;    ///< case_result::remote_bytes of a run in which every step ends
  std::uint64_t returned_bytes = 0;  ///< case_result::returned_bytes, likewise
  bool exact = true;                 ///< false: counted on a sample of the tokens
};

/// Draws the expert ids of the case and counts, by the golden model, the rows that leave their rank; of a large case
/// those of every so manieth token, so that no case takes more than about `most_ids` ids. Needs no memory to speak of.
traffic_forecast forecast_traffic(const case_spec& spec, std::uint64_t seed, std::int64_t most_ids = 1 << 18);

}  // namespace switchyard::harness
