// SPDX-License-Identifier: Apache-2.0
// How ranks that are processes hand one another what only a descriptor names: memory, on the host and on GPUs.
#pragma once

#include <vector>

#include "fabric/rank_meeting.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard {

/// Collective over the ranks of a meeting: gives `mine` to all of them and returns what each gave, by place, as
/// descriptors of this process. `mine` stays the caller's; its place has another one of the same thing. Throws on every
/// rank unsupported, naming the ranks that could not take what they were given; peer_fault as the backend does.
std::vector<unique_descriptor> exchange_descriptors(const rank_meeting& meeting, int mine);

}  // namespace switchyard
