// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group find each other: all come to rank 0, which tells everybody who they are and where. A rank
// that leaves again before everybody has come, or dies, is awaited like one that has not come: another may take its
// place.
#pragma once

#include <memory>
#include <vector>

#include "comm/deadline.hpp"
#include "comm/frame_stream.hpp"
#include "comm/socket_domain.hpp"
#include "comm/wire.hpp"
#include "switchyard/socket_backend.hpp"

namespace switchyard::comm {

struct introductions {
  group_id id{};
  std::vector<wire_address> addresses;                 ///< by rank; rank 0's is empty
  std::vector<std::unique_ptr<frame_stream>> streams;  ///< by rank: rank 0 has all, any other rank that to rank 0
  std::vector<frame> early;                            ///< what rank 0 has already sent after the welcome
};

/// Of rank 0. Throws as the backend's making does, on all ranks that have come.
introductions receive_ranks(socket_domain& domain, const process_group& which, const deadline& until);

/// Of any other rank, which listens at `own`.
introductions come_to_rank_0(socket_domain& domain, const process_group& which, const wire_address& own,
                             const deadline& until);

}  // namespace switchyard::comm
