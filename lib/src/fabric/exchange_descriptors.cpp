// SPDX-License-Identifier: Apache-2.0
#include "fabric/exchange_descriptors.hpp"

#include "fabric/collective_step.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {

std::vector<unique_descriptor> exchange_descriptors(const rank_meeting& meeting, int mine) {
  std::vector<unique_descriptor> all;
  // A rank that gets too few is the only one that is told, and the backend goes on.
  const auto received = judge([&] {
    all.reserve(meeting.ranks().size());
    for (const int each : meeting.backend().allgather_descriptors(mine, meeting.remaining())) all.emplace_back(each);
  });
  (void)collective_step<nothing>(meeting, [&]() -> nothing {
    if (received.outcome != step_outcome::ready) throw unsupported(received.reason.data());
    return {};
  });
  return all;
}

}  // namespace switchyard
