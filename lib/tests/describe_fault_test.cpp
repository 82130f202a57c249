// SPDX-License-Identifier: Apache-2.0
// What a record is as a sentence.
#include "describe_fault.hpp"

#include <gtest/gtest.h>

namespace switchyard {
namespace {

recorded_fault of_masks(fault_code code) {
  recorded_fault record;
  record.code = code;
  record.field = step_field::rank_mask;
  record.epoch = 7;
  record.rank = 40;
  record.expected = 11;
  record.actual = 13;
  return record;
}

TEST(describe_fault, two_masks_by_the_ranks_that_differ) {
  auto record = of_masks(fault_code::mask_changed);
  insert(record.only_expected, 71);
  EXPECT_EQ(describe(record), "dispatch of epoch 7 failed: mask_changed, rank 40, rank_mask here has rank(s) 71");
  insert(record.only_actual, 3);
  insert(record.only_actual, 255);
  EXPECT_EQ(
      describe(record),
      "dispatch of epoch 7 failed: mask_changed, rank 40, rank_mask there has rank(s) 3, 255, here has rank(s) 71");
}

TEST(describe_fault, hashes_of_masks_are_called_that) {
  EXPECT_EQ(describe(of_masks(fault_code::mask_changed)),
            "dispatch of epoch 7 failed: mask_changed, rank 40, rank_mask is 13 there and 11 here as hashes, the other "
            "mask was not told");
  auto hearsay = of_masks(fault_code::mask_changed);
  hearsay.from_notice = 1;
  hearsay.origin = 2;
  EXPECT_EQ(describe(hearsay), "dispatch of epoch 7 failed: mask_changed, rank 40, rank_mask, told by rank 2");
}

TEST(describe_fault, a_mask_that_cannot_be) {
  auto record = of_masks(fault_code::bad_mask);
  insert(record.only_actual, 90);
  EXPECT_EQ(describe(record),
            "dispatch of epoch 7 failed: bad_mask, rank 40, rank_mask has rank(s) 90 which must not be there");
  insert(record.only_expected, 40);
  EXPECT_EQ(describe(record),
            "dispatch of epoch 7 failed: bad_mask, rank 40, rank_mask has rank(s) 90 which must not be there, lacks "
            "rank(s) 40");
}

}  // namespace
}  // namespace switchyard
