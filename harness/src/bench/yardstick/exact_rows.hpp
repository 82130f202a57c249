// SPDX-License-Identifier: Apache-2.0
// Which rows a send-and-receive scheme moves, as tables that kernels read. Arithmetic only, no device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {

/// A row's place in one of two buffers as one number: i >= 0 is row i of the one that the fabric fills or empties, -1-i
/// is row i of the one that stays on the rank.
constexpr std::int32_t remote_place(std::int64_t row) { return static_cast<std::int32_t>(row); }
constexpr std::int32_t local_place(std::int64_t row) { return static_cast<std::int32_t>(-1 - row); }
inline constexpr std::int32_t no_place = INT32_MAX;

struct exact_rows {
  /// [peer] rows for each peer. Sent rows lie peer by peer, ascending by token; so do the rows that come back.
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;  ///< [source] rows lie source by source, ascending by token

  /// Rows to be packed: token, and where to: the send buffer (remote), or at once the receive buffer (local).
  std::vector<std::int32_t> packed_token;
  std::vector<std::int32_t> packed_place;
  /// [received row] the number of the token among all ranks' tokens: source * T + token.
  std::vector<std::int32_t> received_token;
  /// [token][ranks] rows to be summed, owners ascending: of the rows that came back (remote), of those the rank's own
  /// experts made (local), or no_place.
  std::vector<std::int32_t> summed_place;
  /// [token] bit r: rank r owns one of its experts.
  std::vector<std::uint32_t> owner_mask;

  [[nodiscard]] std::int64_t sent_rows() const;
  [[nodiscard]] std::int64_t received_rows() const { return static_cast<std::int64_t>(received_token.size()); }
};

/// Of every rank. Precondition: at most 32 ranks.
std::vector<exact_rows> exact_rows_of(const reference::step_shape& shape,
                                      std::span<const reference::rank_routing> routing);

}  // namespace switchyard::harness
