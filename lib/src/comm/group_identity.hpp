// SPDX-License-Identifier: Apache-2.0
// How a group is named, and how the ranks of a part are numbered: the same for every backend.
#pragma once

#include <string>
#include <vector>

#include "switchyard/comm_backend.hpp"

namespace switchyard::comm {

/// Random, for a new group.
group_id new_group_id();

/// Throws invalid_argument unless 1 <= size <= max_ep_size and 0 <= rank < size.
void check_place(int rank, int size);

/// The places that `members` has, ascending. Throws invalid_argument for places from `size` up, or without `place`.
std::vector<int> places_of(const rank_set& members, int place, int size);

/// "1, 3", ascending.
std::string names_of(const rank_set& ranks);

}  // namespace switchyard::comm
