// SPDX-License-Identifier: Apache-2.0
// A group whose ranks may be masked off, and steps of it that say by themselves what must come out.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "support/host_group.hpp"

namespace switchyard::test {

/// The transports that all tests of masks go by. Off: fence; on: lamport, whose steps take all T of masked_group.
inline constexpr std::array both_transports{choice::off, choice::on};

inline group_options masked_group(int ep_size, choice lamport,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  group_options options;
  options.ep_size = ep_size;
  options.params = {.num_experts = 2 * ep_size, .top_k = 4, .max_tokens_per_rank = 40, .hidden_size = 8};
  options.config.enable_rank_mask = true;
  options.config.lamport = lamport;
  options.config.lamport_max_tokens = 64;
  options.config.timeout = options.config.warmup_timeout = timeout;
  return options;
}

inline rank_set all_but(int ep_size, std::initializer_list<int> off) {
  rank_set mask{};
  for (int rank = 0; rank < ep_size; ++rank) {
    if (std::find(off.begin(), off.end(), rank) == off.end()) insert(mask, rank);
  }
  return mask;
}

/// Token t of a rank goes to ranks t, t + 1, t + 3 and t + 1 again (mod ep_size), two experts a rank.
inline std::vector<std::vector<std::int32_t>> spread_ids(int ep_size, int num_tokens) {
  std::vector<std::vector<std::int32_t>> ids;
  for (int t = 0; t < num_tokens; ++t) {
    const auto expert = [&](int rank, int which) { return static_cast<std::int32_t>(2 * (rank % ep_size) + which); };
    ids.push_back({expert(t, 0), expert(t + 1, 1), expert(t + 3, 0), expert(t + 1, 0)});
  }
  return ids;
}

/// What a rank has of one step.
struct masked_step {
  std::vector<std::int32_t> counts;
  std::vector<std::int32_t> ids;  ///< all rows, padding too
  std::vector<std::uint16_t> output;
  std::int32_t dropped = -1;
};

/// A step with identity experts under whatever mask the stream has; its result as it was between the phases and after.
/// `between` is enqueued before combine.
inline masked_step run_masked_step(host_group& group, int rank, const std::vector<std::vector<std::int32_t>>& ids,
                                   const std::function<void()>& between = {}) {
  auto& instance = group.instance(rank);
  auto& stream = group.stream(rank);
  token_batch batch(rank, instance.params(), ids);
  const auto received = instance.dispatch(batch.inputs(), {}, stream);
  stream.synchronize();
  if (instance.status()) throw peer_fault("dispatch of rank " + std::to_string(rank), *instance.status());
  masked_step result;
  result.counts.assign(received.recv_counts.begin(), received.recv_counts.end());
  const auto* views = reinterpret_cast<const std::int32_t*>(received.topk_ids.data);
  result.ids.assign(views, views + result.counts.size() * static_cast<std::size_t>(received.tokens_per_rank) *
                                       static_cast<std::size_t>(instance.params().top_k));
  result.dropped = *received.dropped_routes;
  if (between) between();
  instance.combine(identity_experts(instance, received, stream), batch.output(), stream);
  stream.synchronize();
  if (instance.status()) throw peer_fault("combine of rank " + std::to_string(rank), *instance.status());
  result.output.assign(batch.output_row(0), batch.output_row(0) + ids.size() * 8);
  return result;
}

/// The distinct ranks of `mask` that a token of these ids goes to.
inline int copies_of(const std::vector<std::int32_t>& ids, const rank_set& mask) {
  rank_set seen{};
  int copies = 0;
  for (const auto id : ids) {
    if (id < 0 || !contains(mask, id / 2) || contains(seen, id / 2)) continue;
    insert(seen, id / 2);
    ++copies;
  }
  return copies;
}

/// All ranks of `mask` have run a step with these ids.
inline void expect_masked(const masked_step& is, int rank, int ep_size, const rank_set& mask,
                          const std::vector<std::vector<std::int32_t>>& ids) {
  const auto where = "rank " + std::to_string(rank);
  std::int32_t for_me = 0;
  std::int32_t dropped = 0;
  for (const auto& row : ids) {
    bool comes = false;
    for (const auto id : row) {
      comes |= id >= 0 && id / 2 == rank;
      dropped += id >= 0 && !contains(mask, id / 2) ? 1 : 0;
    }
    for_me += comes ? 1 : 0;
  }
  EXPECT_EQ(is.dropped, dropped) << where;
  const auto row_ids = is.ids.size() / static_cast<std::size_t>(ep_size);
  for (int source = 0; source < ep_size; ++source) {
    const auto s = static_cast<std::size_t>(source);
    EXPECT_EQ(is.counts[s], contains(mask, source) ? for_me : 0) << where << " from " << source;
    if (contains(mask, source)) continue;
    for (auto i = s * row_ids; i < (s + 1) * row_ids; ++i) ASSERT_EQ(is.ids[i], -1) << where << " from " << source;
  }
  for (std::size_t token = 0; token < ids.size(); ++token) {
    const int copies = copies_of(ids[token], mask);
    for (int h = 0; h < 8; ++h) {
      const auto value = copies * ((16 * rank + static_cast<int>(token)) % 64 + h % 2);
      ASSERT_EQ(is.output[token * 8 + static_cast<std::size_t>(h)], token_batch::bits_of(static_cast<float>(value)))
          << where << " token " << token << " element " << h;
    }
  }
}

}  // namespace switchyard::test
