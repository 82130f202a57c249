// SPDX-License-Identifier: Apache-2.0
// Steps without some of the ranks: worked out on paper, and by laws.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference {
namespace {

using tests::byte_row;
using tests::shape_of;
using counts = std::vector<std::int32_t>;
using tokens = std::vector<std::int64_t>;

rank_set mask_of(std::initializer_list<int> ranks) {
  rank_set mask{};
  for (const int rank : ranks) insert(mask, rank);
  return mask;
}

// 8 experts on 4 ranks, two each; rank 2 (experts 4 and 5) is masked off, and its own tokens are nobody's.
TEST(rank_mask, routes_to_a_rank_that_is_off_are_dropped_and_counted) {
  auto shape = shape_of(4, 8, 3, 2);
  shape.active = mask_of({0, 1, 3});
  const std::vector<rank_routing> routing{
      {2, {0, 4, 5, /**/ 4, 7, 3}},
      {1, {4, 5, 4}},
      {2, {0, 1, 2, /**/ 6, 7, 0}},
      {2, {-1, 5, 8, /**/ 2, 0, 6}},
  };
  const auto ranks = dispatch(shape, routing);
  EXPECT_EQ(ranks[0].recv_counts, (counts{1, 0, 0, 1}));
  EXPECT_EQ(ranks[0].source_tokens, (tokens{0, -1, /**/ -1, -1, /**/ -1, -1, /**/ 1, -1}));
  EXPECT_EQ(ranks[1].recv_counts, (counts{1, 0, 0, 1}));
  EXPECT_EQ(ranks[1].source_tokens, (tokens{1, -1, /**/ -1, -1, /**/ -1, -1, /**/ 1, -1}));
  EXPECT_EQ(ranks[2].recv_counts, counts(4, 0));
  EXPECT_EQ(ranks[2].source_tokens, tokens(8, -1));
  EXPECT_EQ(ranks[3].recv_counts, (counts{1, 0, 0, 1}));
  EXPECT_EQ(ranks[3].source_tokens, (tokens{1, -1, /**/ -1, -1, /**/ -1, -1, /**/ 1, -1}));
  EXPECT_EQ(ranks[0].dropped_routes, 3);  // a choice each, not a token nor a rank
  EXPECT_EQ(ranks[1].dropped_routes, 3);
  EXPECT_EQ(ranks[2].dropped_routes, 0);
  EXPECT_EQ(ranks[3].dropped_routes, 1);  // an id that names no expert leads nowhere with any mask
}

TEST(rank_mask, slots_close_up_over_ranks_that_are_off) {
  const std::vector<std::int32_t> ids{6, 4, 0, 5, 2, 7};
  EXPECT_EQ(owners_in_slot_order(ids, 8, 4), (std::vector<int>{3, 2, 0, 1}));
  EXPECT_EQ(owners_in_slot_order(ids, 8, 4, mask_of({0, 1, 3})), (std::vector<int>{3, 0, 1}));
  EXPECT_EQ(owners_in_slot_order(ids, 8, 4, mask_of({2})), (std::vector<int>{2}));
  EXPECT_TRUE(owners_in_slot_order(ids, 8, 4, {}).empty());
}

TEST(rank_mask, rows_of_what_is_dropped_are_not_traffic) {  // one token of rank 0 to ranks 0, 2 and 3; rank 2 is off
  auto shape = shape_of(4, 8, 4, 1);
  shape.active = mask_of({0, 1, 3});
  const auto moved = count_traffic(shape, std::vector<rank_routing>{{1, {0, 5, 6, 7}}, {}, {1, {0, 1, 2, 3}}, {}}, 10);
  EXPECT_EQ(moved[0].selection_bytes, 30U);
  EXPECT_EQ(moved[0].unique_bytes, 20U);
  EXPECT_EQ(moved[0].remote_send_bytes, 10U);
  EXPECT_EQ(moved[2].selection_bytes + moved[2].remote_send_bytes + moved[2].remote_recv_bytes, 0U);
  EXPECT_EQ(moved[3].remote_recv_bytes, 10U);
}

byte_row row_that_names(int owner, int source, std::int64_t token, std::size_t bytes) {
  std::mt19937_64 random(static_cast<std::uint64_t>((owner * 1000 + source) * 1000 + token));
  return tests::random_row(random, bytes);
}

/// A step with random routing, played out under `active`.
struct played {
  std::vector<rank_routing> routing;
  std::vector<dispatched_rank> dispatched;
  std::vector<std::vector<byte_row>> outputs;
};
played play(step_shape shape, std::uint64_t seed, const rank_set& active) {
  std::mt19937_64 random(seed);
  played made;
  for (int rank = 0; rank < shape.ep_size; ++rank) {
    const auto n = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape.tokens_per_rank + 1));
    made.routing.push_back(tests::random_routing(random, shape, n, 5));
  }
  shape.active = active;
  made.dispatched = dispatch(shape, made.routing);
  const auto bytes = static_cast<std::size_t>(shape.params.hidden_size) * itemsize(shape.params.dtype);
  made.outputs = tests::play_step(shape, made.routing, [&](int owner, int source, std::int64_t token) {
    return row_that_names(owner, source, token, bytes);
  });
  return made;
}

TEST(rank_mask, a_full_mask_is_no_mask) {
  for (const int ep_size : {1, 3, 5, 64, 65, 256}) {
    rank_set full{};
    for (int rank = 0; rank < ep_size; ++rank) insert(full, rank);
    const auto shape = shape_of(ep_size, ep_size + 3, 3, 4);
    const auto with = play(shape, 7, full);
    const auto without = play(shape, 7, every_rank);
    for (std::size_t rank = 0; rank < with.outputs.size(); ++rank) {
      EXPECT_EQ(with.dispatched[rank].recv_counts, without.dispatched[rank].recv_counts);
      EXPECT_EQ(with.dispatched[rank].source_tokens, without.dispatched[rank].source_tokens);
      EXPECT_EQ(with.dispatched[rank].dropped_routes, 0);
      EXPECT_EQ(with.outputs[rank], without.outputs[rank]);
    }
  }
}

// To mask a rank off is as good as to make its experts none and to give it no tokens.
TEST(rank_mask, a_rank_that_is_off_is_one_without_experts_and_tokens) {
  const auto shape = shape_of(5, 12, 4, 6);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const int off = static_cast<int>(seed % 5);
    rank_set active = every_rank;
    active[0] &= ~(std::uint64_t{1} << off);
    const auto masked = play(shape, seed, active);
    auto routing = masked.routing;
    std::int64_t choices = 0;
    routing[static_cast<std::size_t>(off)] = {};
    std::vector<std::int64_t> dropped;
    for (auto& of_rank : routing) {
      std::int64_t here = 0;
      for (auto& id : of_rank.topk_ids) {
        if (owner_of(id, 12, 5) != off) continue;
        id = -1;
        ++here;
      }
      dropped.push_back(here);
      choices += here;
    }
    const auto plain = dispatch(shape, routing);
    const auto outputs = tests::play_step(shape, routing, [](int owner, int source, std::int64_t token) {
      return row_that_names(owner, source, token, 16);
    });
    EXPECT_GT(choices, 0) << seed;
    for (std::size_t rank = 0; rank < 5; ++rank) {
      EXPECT_EQ(masked.dispatched[rank].recv_counts, plain[rank].recv_counts) << seed;
      EXPECT_EQ(masked.dispatched[rank].source_tokens, plain[rank].source_tokens) << seed;
      EXPECT_EQ(masked.dispatched[rank].dropped_routes, dropped[rank]) << seed;
      EXPECT_EQ(masked.outputs[rank], outputs[rank]) << seed;
    }
  }
}

// Routes arrive, or lead nowhere, or are dropped; nothing else.
TEST(rank_mask, kept_and_dropped_choices_are_all_choices) {
  const auto shape = shape_of(6, 6, 2, 5);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const rank_set active = mask_of({0, static_cast<int>(seed % 5) + 1});
    const auto masked = play(shape, seed, active);
    for (std::size_t rank = 0; rank < 6; ++rank) {
      if (!contains(active, static_cast<int>(rank))) continue;
      std::int64_t kept = 0;
      std::int64_t named = 0;
      for (const auto id : masked.routing[rank].topk_ids) {
        const int owner = owner_of(id, 6, 6);
        if (owner >= 0) ++named;
        if (owner >= 0 && contains(active, owner)) ++kept;
      }
      EXPECT_EQ(kept + masked.dispatched[rank].dropped_routes, named) << seed;
    }
  }
}

}  // namespace
}  // namespace switchyard::reference
