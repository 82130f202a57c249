// SPDX-License-Identifier: Apache-2.0
#include "comm/group_identity.hpp"

#include <random>

#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {

group_id new_group_id() {
  std::random_device entropy;
  group_id id{};
  for (auto& word : id) word = (static_cast<std::uint64_t>(entropy()) << 32) | entropy();
  return id;
}

void check_place(int rank, int size) {
  if (size < 1 || size > max_ep_size) {
    throw invalid_argument("comm backend: size is " + std::to_string(size) + ", must be 1 .. " +
                           std::to_string(max_ep_size));
  }
  if (rank < 0 || rank >= size) {
    throw invalid_argument("comm backend: rank is " + std::to_string(rank) + ", must be 0 .. " +
                           std::to_string(size - 1));
  }
}

std::vector<int> places_of(const rank_set& members, int place, int size) {
  std::vector<int> places;
  for (int each = 0; each < max_ep_size; ++each) {
    if (!contains(members, each)) continue;
    if (each >= size) {
      throw invalid_argument("comm backend: members has rank " + std::to_string(each) + ", must be below " +
                             std::to_string(size));
    }
    places.push_back(each);
  }
  if (!contains(members, place)) {
    throw invalid_argument("comm backend: members lacks this rank, " + std::to_string(place) + ", must have it");
  }
  return places;
}

std::string names_of(const rank_set& ranks) {
  std::string names;
  for (int rank = 0; rank < max_ep_size; ++rank) {
    if (contains(ranks, rank)) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  }
  return names;
}

}  // namespace switchyard::comm
