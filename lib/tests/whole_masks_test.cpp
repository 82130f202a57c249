// SPDX-License-Identifier: Apache-2.0
// Masks of more ranks than a header's word has bits: what a record says of ones that differ, or that cannot be.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "protocol/mask_difference.hpp"
#include "rules.hpp"
#include "support/masked_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::host_group;
using test::masked_group;
using test::on_every_rank;
using test::spread_ids;

constexpr int ranks_of_a_rack = 72;

rank_set set_of(std::initializer_list<int> ranks) {
  rank_set set{};
  for (const int rank : ranks) insert(set, rank);
  return set;
}

/// A dispatch of each of these ranks.
void dispatch_by(host_group& group, const rank_set& ranks) {
  on_every_rank(group.ep_size(), [&](int rank) {
    if (!contains(ranks, rank)) return;
    test::token_batch batch(rank, group.instance(rank).params(), spread_ids(group.ep_size(), 6));
    (void)group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank));
    group.stream(rank).synchronize();
  });
}

class whole_masks : public testing::TestWithParam<choice> {};

// A peer may be too late to tell its mask, where the machine has other things to do: then there are hashes alone.
TEST_P(whole_masks, ranks_that_differ_are_named_on_both_sides) {
  const auto callers = set_of({0, 40, 70});
  rank_set named{};
  for (int attempt = 0; attempt < 20 && named != callers; ++attempt) {
    host_group group(masked_group(ranks_of_a_rack, GetParam()));
    for (const int rank : {0, 40, 70}) {
      const auto mask = rank == 40 ? set_of({0, 33, 40, 70}) : set_of({0, 40, 70, 71});
      group.instance(rank).set_active_ranks(mask, group.stream(rank));
    }
    dispatch_by(group, callers);
    for (const int rank : {0, 40, 70}) {
      const auto record = group.instance(rank).status();
      ASSERT_TRUE(record) << "rank " << rank;
      EXPECT_EQ(record->code, fault_code::mask_changed) << "rank " << rank;
      EXPECT_EQ(record->field, step_field::rank_mask) << "rank " << rank;
      const bool is_known = record->only_expected != rank_set{} || record->only_actual != rank_set{};
      EXPECT_FALSE(is_known && record->from_notice != 0) << "rank " << rank;
      if (!is_known) continue;
      insert(named, rank);
      EXPECT_EQ(record->only_expected, rank == 40 ? set_of({33}) : set_of({71})) << "rank " << rank;
      EXPECT_EQ(record->only_actual, rank == 40 ? set_of({71}) : set_of({33})) << "rank " << rank;
      EXPECT_TRUE(rank == 40 ? record->rank == 0 || record->rank == 70 : record->rank == 40) << record->rank;
    }
  }
  EXPECT_EQ(named, callers);
}

/// What a peer that is not there would have stored at rank 0 in its first dispatch: the fixed words, of which the
/// mask's differs, and its whole mask where it has told that too.
void store_first_header(host_group& group, const test::group_options& options, int source, const rank_set& mask,
                        bool tells_mask) {
  const auto plan = layout::make_layout(extents_of(options.params, options.config, ranks_of_a_rack));
  auto* base = group.instance(0).workspace_data();
  auto* header = reinterpret_cast<std::uint64_t*>(
      base + plan.header_offset(phase::dispatch, 0, static_cast<std::uint64_t>(source)));
  for (std::uint32_t i = 0; i < protocol::fixed_header_words; ++i) header[i] = layout::tagged(1, 1);
  header[static_cast<std::size_t>(protocol::header_word::rank_mask)] =
      layout::tagged(layout::mask_word_of(mask, ranks_of_a_rack), 1);
  auto* told = reinterpret_cast<std::uint64_t*>(base + plan.whole_mask_offset(static_cast<std::uint64_t>(source)));
  for (std::size_t i = 0; i < plan.dims.whole_mask_words() && tells_mask; ++i) {
    told[i] = layout::tagged(static_cast<std::uint32_t>(mask[i / 2] >> (32 * (i % 2))), 1);
  }
}

std::optional<recorded_fault> fault_beside(const test::group_options& options, const rank_set& mine,
                                           const rank_set& theirs, bool tells_mask) {
  host_group group(options);
  group.instance(0).set_active_ranks(mine, group.stream(0));
  group.stream(0).synchronize();
  store_first_header(group, options, 40, theirs, tells_mask);
  dispatch_by(group, set_of({0}));
  return group.instance(0).status();
}

TEST_P(whole_masks, a_mask_that_was_told_is_read_to_the_last_word) {
  const auto mine = set_of({0, 40, 63, 71});
  const auto theirs = set_of({0, 31, 32, 40, 64, 71});
  const auto record = fault_beside(masked_group(ranks_of_a_rack, GetParam()), mine, theirs, true);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->code, fault_code::mask_changed);
  EXPECT_EQ(record->rank, 40);
  EXPECT_EQ(record->only_expected, set_of({63}));
  EXPECT_EQ(record->only_actual, set_of({31, 32, 64}));
}

TEST_P(whole_masks, a_mask_that_nobody_tells_is_awaited_for_a_moment) {
  const auto mine = set_of({0, 40, 71});
  const auto theirs = set_of({0, 40});
  const auto record = fault_beside(masked_group(ranks_of_a_rack, GetParam(), 60s), mine, theirs, false);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->code, fault_code::mask_changed);
  EXPECT_EQ(record->rank, 40);
  EXPECT_EQ(record->expected, layout::mask_word_of(mine, ranks_of_a_rack));
  EXPECT_EQ(record->actual, layout::mask_word_of(theirs, ranks_of_a_rack));
  EXPECT_EQ(record->only_expected, rank_set{});
  EXPECT_EQ(record->only_actual, rank_set{});
  EXPECT_LT(record->waited_ns, 30'000'000'000U) << "far from the deadline";
}

TEST_P(whole_masks, a_rank_that_must_not_be_there_is_named_wherever_it_is) {
  host_group group(masked_group(ranks_of_a_rack, GetParam()));
  const auto pair = set_of({0, 70});
  on_every_rank(ranks_of_a_rack, [&](int rank) {
    if (!contains(pair, rank)) return;
    group.instance(rank).set_active_ranks(pair, group.stream(rank));
    (void)run_masked_step(group, rank, spread_ids(ranks_of_a_rack, 5));
  });
  group.instance(0).set_active_ranks(set_of({0, 1, 70, 71}), group.stream(0));
  dispatch_by(group, set_of({0}));
  const auto record = group.instance(0).status();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->code, fault_code::bad_mask);
  EXPECT_EQ(record->only_expected, rank_set{});
  EXPECT_EQ(record->only_actual, set_of({1, 71}));
}

TEST_P(whole_masks, groups_whose_masks_fit_a_header_need_not_tell_them) {
  const auto options = masked_group(3, GetParam());
  EXPECT_EQ(extents_of(options.params, options.config, 3).whole_mask_words(), 0U);
  host_group group(options);
  group.instance(1).set_active_ranks(set_of({0, 1}), group.stream(1));
  dispatch_by(group, set_of({0, 1}));
  for (const int rank : {0, 1}) {
    const auto record = group.instance(rank).status();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->code, fault_code::mask_changed);
    EXPECT_EQ(record->only_expected, rank == 0 ? set_of({2}) : rank_set{});
    EXPECT_EQ(record->only_actual, rank == 1 ? set_of({2}) : rank_set{});
  }
}

TEST_P(whole_masks, a_later_fault_has_none_of_an_earlier_one) {
  host_group group(masked_group(3, GetParam()));
  group.instance(1).set_active_ranks(set_of({0, 1}), group.stream(1));
  dispatch_by(group, set_of({0, 1}));
  ASSERT_EQ(group.instance(0).status()->only_expected, set_of({2}));
  auto backends = make_in_process_backends(3);
  on_every_rank(3, [&](int rank) {
    group.instance(rank).recover(*backends[static_cast<std::size_t>(rank)], layout::all_ranks(3));
  });
  group.instance(0).abort("another fault");
  ASSERT_TRUE(group.instance(0).status());
  EXPECT_EQ(group.instance(0).status()->only_expected, rank_set{});
}

INSTANTIATE_TEST_SUITE_P(by, whole_masks, testing::ValuesIn(test::both_transports),
                         [](const auto& by) { return std::string(by.param == choice::off ? "fence" : "lamport"); });

}  // namespace
}  // namespace switchyard
