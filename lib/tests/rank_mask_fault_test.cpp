// SPDX-License-Identifier: Apache-2.0
// Masks that ranks disagree on, or that cannot be: who records what.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "injection/faulty_fabric.hpp"
#include "protocol/rank_mask.hpp"
#include "support/masked_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::host_group;
using test::masked_group;
using test::on_every_rank;
using test::spread_ids;

/// A dispatch of each of these ranks, and what each has recorded.
std::vector<std::optional<recorded_fault>> dispatch_each(host_group& group, const rank_set& ranks) {
  std::vector<std::optional<recorded_fault>> records(static_cast<std::size_t>(group.ep_size()));
  on_every_rank(group.ep_size(), [&](int rank) {
    if (!contains(ranks, rank)) return;
    test::token_batch batch(rank, group.instance(rank).params(), spread_ids(group.ep_size(), 6));
    (void)group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank));
    group.stream(rank).synchronize();
    records[static_cast<std::size_t>(rank)] = group.instance(rank).status();
  });
  return records;
}

class rank_mask_fault : public testing::TestWithParam<choice> {};

TEST_P(rank_mask_fault, masks_that_differ_are_named_with_both_values) {
  host_group group(masked_group(4, GetParam()));
  group.instance(1).set_active_ranks(all_but(4, {3}), group.stream(1));
  const auto records = dispatch_each(group, all_but(4, {3}));
  for (const int rank : {0, 1, 2}) {
    const auto& record = records[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(record) << "rank " << rank;
    EXPECT_EQ(record->code, fault_code::mask_changed) << "rank " << rank;
    EXPECT_EQ(record->field, step_field::rank_mask) << "rank " << rank;
    EXPECT_EQ(record->from_notice, 0) << "rank " << rank;
    EXPECT_EQ(record->expected, rank == 1 ? 0b0111U : 0b1111U) << "rank " << rank;
    EXPECT_EQ(record->actual, rank == 1 ? 0b1111U : 0b0111U) << "rank " << rank;
    EXPECT_TRUE(rank == 1 ? record->rank == 0 || record->rank == 2 : record->rank == 1) << record->rank;
  }
  EXPECT_FALSE(records[3]);
}

TEST_P(rank_mask_fault, a_rank_that_sees_no_other_mask_is_told) {
  host_group group(masked_group(3, GetParam()));
  group.instance(1).set_active_ranks(all_but(3, {2}), group.stream(1));  // so nothing comes to rank 2 from rank 1
  const auto records = dispatch_each(group, all_but(3, {}));
  ASSERT_TRUE(records[2]);
  EXPECT_EQ(records[2]->code, fault_code::mask_changed);
  EXPECT_EQ(records[2]->from_notice, 1);
  EXPECT_EQ(records[2]->rank, 1);
  EXPECT_EQ(records[2]->origin, 0);
}

TEST_P(rank_mask_fault, a_rank_that_comes_back_without_recover_is_a_bad_mask) {
  host_group group(masked_group(3, GetParam()));
  const auto mask = all_but(3, {2});
  on_every_rank(3, [&](int rank) {
    if (rank == 2) return;
    group.instance(rank).set_active_ranks(mask, group.stream(rank));
    (void)run_masked_step(group, rank, spread_ids(3, 5));
    group.instance(rank).set_active_ranks(all_but(3, {}), group.stream(rank));
  });
  const auto records = dispatch_each(group, mask);
  for (const int rank : {0, 1}) {
    const auto& record = records[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(record);
    EXPECT_EQ(record->code, fault_code::bad_mask);
    if (record->from_notice != 0) continue;
    EXPECT_EQ(record->rank, rank);
    EXPECT_EQ(record->field, step_field::rank_mask);
    EXPECT_EQ(record->expected, 0b011U);
    EXPECT_EQ(record->actual, 0b111U);
  }
}

TEST_P(rank_mask_fault, a_missing_rank_is_awaited_and_one_that_is_off_is_not) {
  auto options = masked_group(4, GetParam(), 300ms);
  host_group group(options);
  const auto mask = all_but(4, {0});
  for (const int rank : {1, 2}) group.instance(rank).set_active_ranks(mask, group.stream(rank));
  rank_set callers{};
  insert(callers, 1);
  insert(callers, 2);
  const auto records = dispatch_each(group, callers);
  for (const int rank : {1, 2}) {
    const auto& record = records[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(record);
    EXPECT_EQ(record->code, fault_code::timeout);
    EXPECT_EQ(record->rank, 3);
    rank_set missing{};
    insert(missing, 3);
    EXPECT_EQ(record->missing, missing);
  }
  EXPECT_FALSE(group.instance(0).status());
  EXPECT_FALSE(group.instance(3).status());
}

TEST_P(rank_mask_fault, a_rank_that_is_off_is_not_told_of_faults) {
  host_group group(masked_group(3, GetParam(), 300ms));
  on_every_rank(3, [&](int rank) {
    if (rank == 2) return;
    group.instance(rank).set_active_ranks(all_but(3, {2}), group.stream(rank));
    (void)run_masked_step(group, rank, spread_ids(3, 5));
    if (rank == 0) group.instance(0).abort("enough");
  });
  // Its own next phase finds no notice, and waits for those who do not come.
  rank_set only{};
  insert(only, 2);
  const auto records = dispatch_each(group, only);
  ASSERT_TRUE(records[2]);
  EXPECT_EQ(records[2]->code, fault_code::timeout);
  EXPECT_EQ(records[2]->from_notice, 0);
}

TEST_P(rank_mask_fault, what_a_rank_that_is_off_tells_ends_no_phase) {
  host_group group(masked_group(3, GetParam()));
  const auto mask = all_but(3, {0});
  on_every_rank(3, [&](int rank) {
    if (rank == 0) return;
    group.instance(rank).set_active_ranks(mask, group.stream(rank));
    (void)run_masked_step(group, rank, spread_ids(3, 5));
  });
  group.instance(0).abort("on the way to recover()");
  on_every_rank(3, [&](int rank) {
    if (rank == 0) return;
    for (int step = 0; step < 3; ++step) {
      expect_masked(run_masked_step(group, rank, spread_ids(3, 5)), rank, 3, mask, spread_ids(3, 5));
    }
  });
  EXPECT_FALSE(group.instance(1).status());
  EXPECT_FALSE(group.instance(2).status());
}

TEST(rank_mask_fault_word, words_of_masks_tell_them_apart) {
  EXPECT_EQ(layout::mask_word_of(all_but(32, {31}), 32), 0x7FFFFFFFU);
  std::vector<std::uint32_t> seen;
  for (const int ep_size : {33, 64, 72, 256}) {
    seen.clear();
    seen.push_back(layout::mask_word_of(all_but(ep_size, {}), ep_size));
    for (int off = 0; off < ep_size; ++off) {
      seen.push_back(layout::mask_word_of(all_but(ep_size, {off}), ep_size));
      for (int other = 0; other < off; ++other) {
        seen.push_back(layout::mask_word_of(all_but(ep_size, {off, other}), ep_size));
      }
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end()) << ep_size;
  }
}

INSTANTIATE_TEST_SUITE_P(by, rank_mask_fault, testing::ValuesIn(test::both_transports),
                         [](const auto& by) { return std::string(by.param == choice::off ? "fence" : "lamport"); });

}  // namespace
}  // namespace switchyard
