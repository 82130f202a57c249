// SPDX-License-Identifier: Apache-2.0
// Ranks that are masked off: the others go on without them, and exactly.
#include <gtest/gtest.h>

#include <chrono>

#include "support/exchange.hpp"
#include "support/masked_group.hpp"
#include "support/team_block.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::expect_masked;
using test::host_group;
using test::masked_group;
using test::on_every_rank;
using test::run_masked_step;
using test::spread_ids;

rank_set everybody(int ep_size) { return all_but(ep_size, {}); }

class rank_mask : public testing::TestWithParam<choice> {};

// B27: one rank of four is gone for good. Tokens for it, and none for it.
TEST_P(rank_mask, b27_survivors_go_on_without_a_rank_that_never_calls) {
  for (const int workers : {1, 3}) {
    auto options = masked_group(4, GetParam());
    options.workers = workers;
    host_group group(options);
    const auto mask = all_but(4, {2});
    std::vector<std::vector<std::int32_t>> without;  // experts of ranks 0, 1 and 3
    for (int t = 0; t < 32; ++t) without.push_back({t % 2, 2 + t % 2, 6 + t % 2, -1});
    on_every_rank(4, [&](int rank) {
      if (rank == 2) return;
      group.instance(rank).set_active_ranks(mask, group.stream(rank));
      for (int step = 0; step < 6; ++step) {
        const auto& ids = step % 2 == 0 ? spread_ids(4, 32) : without;
        expect_masked(run_masked_step(group, rank, ids), rank, 4, mask, ids);
      }
    });
  }
}

TEST_P(rank_mask, of_all_ranks_and_no_mask_give_the_same_bytes) {
  for (const int workers : {1, 3}) {
    for (const int tokens : {1, 40, 70}) {
      auto shape = test::small_exchange(3);
      shape.tokens_per_rank = tokens;
      shape.workers = workers;
      shape.config.lamport = GetParam();
      shape.config.extra_payload_bytes_per_token = shape.row_bytes[4] = 8;
      const auto without = run_on_host(shape, 4);
      shape.config.enable_rank_mask = true;
      const auto with = run_on_host(shape, 4);
      for (std::size_t step = 0; step < with.size(); ++step) {
        for (std::size_t rank = 0; rank < 3; ++rank) expect_same(with[step][rank], without[step][rank], shape, "mask");
      }
    }
  }
}

// Whoever is gone may have taken its memory along.
TEST_P(rank_mask, nothing_is_stored_into_the_workspace_of_a_rank_that_is_off) {
  const auto options = masked_group(3, GetParam());
  host_group group(options);
  const auto* memory = group.instance(1).workspace_data();
  const auto bytes = workspace_bytes(options.params, options.config, 3);
  const std::vector<std::byte> before(memory, memory + bytes);
  on_every_rank(3, [&](int rank) {
    if (rank == 1) return;
    group.instance(rank).set_active_ranks(all_but(3, {1}), group.stream(rank));
    for (int step = 0; step < 3; ++step) (void)run_masked_step(group, rank, spread_ids(3, 40));
  });
  group.instance(0).abort("and of its faults it is not told either");
  group.stream(0).synchronize();
  EXPECT_TRUE(std::equal(before.begin(), before.end(), memory));
}

TEST_P(rank_mask, teams_of_several_threads_drop_the_same_routes) {
  auto options = masked_group(4, GetParam(), 40s);
  options.workers = 2;
  const auto teams = test::make_team_fabric();
  options.make_fabric = [teams](int) { return teams; };
  host_group group(options);
  const auto mask = all_but(4, {0});
  on_every_rank(4, [&](int rank) {
    if (rank == 0) return;
    group.instance(rank).set_active_ranks(mask, group.stream(rank));
    for (const int tokens : {40, 3, 0}) {
      const auto ids = spread_ids(4, tokens);
      expect_masked(run_masked_step(group, rank, ids), rank, 4, mask, ids);
    }
  });
}

TEST_P(rank_mask, shrinks_from_step_to_step_down_to_one_rank) {
  host_group group(masked_group(4, GetParam()));
  on_every_rank(4, [&](int rank) {
    for (int step = 0; step <= rank; ++step) {  // rank r takes part in steps 0 .. r
      rank_set mask{};
      for (int each = step; each < 4; ++each) insert(mask, each);
      group.instance(rank).set_active_ranks(mask, group.stream(rank));
      const auto ids = spread_ids(4, 20 + step);
      expect_masked(run_masked_step(group, rank, ids), rank, 4, mask, ids);
    }
  });
}

TEST_P(rank_mask, of_more_ranks_than_a_header_word_has_bits) {
  constexpr int ranks = 70;
  host_group group(masked_group(ranks, GetParam(), 100s));
  const auto mask = all_but(ranks, {0, 31, 33, 64, 69});
  on_every_rank(ranks, [&](int rank) {
    const auto ids = spread_ids(ranks, 9);
    expect_masked(run_masked_step(group, rank, ids), rank, ranks, everybody(ranks), ids);
    if (!contains(mask, rank)) return;
    group.instance(rank).set_active_ranks(mask, group.stream(rank));
    expect_masked(run_masked_step(group, rank, ids), rank, ranks, mask, ids);
  });
}

TEST_P(rank_mask, combine_has_the_mask_of_its_dispatch) {
  host_group group(masked_group(3, GetParam()));
  const auto ids = spread_ids(3, 12);
  on_every_rank(3, [&](int rank) {
    const auto later = all_but(3, {1});
    const auto step = run_masked_step(group, rank, ids, [&] {
      if (rank != 1) group.instance(rank).set_active_ranks(later, group.stream(rank));
    });
    expect_masked(step, rank, 3, everybody(3), ids);
    if (rank != 1) expect_masked(run_masked_step(group, rank, ids), rank, 3, later, ids);
  });
}

TEST_P(rank_mask, a_rank_that_was_off_comes_back_through_recover) {
  auto options = masked_group(3, GetParam());
  host_group group(options);
  auto backends = make_in_process_backends(3);
  auto plain_options = options;
  plain_options.config.enable_rank_mask = false;
  host_group plain(plain_options);
  const auto ids = spread_ids(3, 17);
  const auto mask = all_but(3, {2});
  on_every_rank(3, [&](int rank) {
    auto& instance = group.instance(rank);
    for (int round = 0; round < 3; ++round) {
      if (rank != 2) {
        instance.set_active_ranks(mask, group.stream(rank));
        for (int step = 0; step < 5; ++step) {
          expect_masked(run_masked_step(group, rank, ids), rank, 3, mask, ids);
        }
      }
      instance.recover(*backends[static_cast<std::size_t>(rank)], everybody(3));
      const auto whole = run_masked_step(group, rank, ids);
      expect_masked(whole, rank, 3, everybody(3), ids);
      const auto without = run_masked_step(plain, rank, ids);
      EXPECT_EQ(whole.counts, without.counts);
      EXPECT_EQ(whole.ids, without.ids);
      EXPECT_EQ(whole.output, without.output);
      EXPECT_EQ(without.dropped, 0);
    }
  });
}

TEST_P(rank_mask, is_set_in_stream_order_and_may_be_set_twice) {
  host_group group(masked_group(3, GetParam()));
  on_every_rank(3, [&](int rank) {
    if (rank == 0) return;
    // The one before never meets a dispatch, so nobody has left by it.
    rank_set alone{};
    insert(alone, rank);
    group.instance(rank).set_active_ranks(alone, group.stream(rank));
    group.instance(rank).set_active_ranks(all_but(3, {0}), group.stream(rank));
    const auto ids = spread_ids(3, 8);
    expect_masked(run_masked_step(group, rank, ids), rank, 3, all_but(3, {0}), ids);
  });
}

TEST_P(rank_mask, is_made_of_ranks_and_checked_before_anything_is_enqueued) {
  host_group group(masked_group(3, GetParam()));
  auto& instance = group.instance(1);
  const std::array ranks{2, 1};
  EXPECT_EQ(instance.active_rank_mask(ranks), all_but(3, {0}));
  EXPECT_EQ(instance.active_rank_mask({}), rank_set{});
  const std::array beyond{1, 3};
  EXPECT_THROW((void)instance.active_rank_mask(beyond), invalid_argument);
  const std::array below{-1};
  EXPECT_THROW((void)instance.active_rank_mask(below), invalid_argument);
  EXPECT_THROW(instance.set_active_ranks(all_but(3, {1}), group.stream(1)), invalid_argument);
  EXPECT_THROW(instance.set_active_ranks(everybody(4), group.stream(1)), invalid_argument);
  EXPECT_THROW(instance.set_active_ranks(everybody(256), group.stream(1)), invalid_argument);
  group.stream(1).synchronize();
  EXPECT_FALSE(instance.status());

  auto plain = masked_group(2, GetParam());
  plain.config.enable_rank_mask = false;
  host_group without(plain);
  EXPECT_THROW(without.instance(0).set_active_ranks(everybody(2), without.stream(0)), unsupported);
  without.instance(0).abort("for the next line");
  without.stream(0).synchronize();
  group.instance(0).abort("for the next line");
  EXPECT_THROW(group.instance(0).set_active_ranks(everybody(3), group.stream(0)), peer_fault);
}

INSTANTIATE_TEST_SUITE_P(by, rank_mask, testing::ValuesIn(test::both_transports),
                         [](const auto& by) { return std::string(by.param == choice::off ? "fence" : "lamport"); });

}  // namespace
}  // namespace switchyard
