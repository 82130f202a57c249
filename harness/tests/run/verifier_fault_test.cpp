// SPDX-License-Identifier: Apache-2.0
// What a fault must leave behind, and broken fences.
#include <gtest/gtest.h>

#include <cstring>

#include "hand_made_step.hpp"

namespace switchyard::harness {
namespace {

class verifier_fault_test : public testing::Test {
 protected:
  void clear_views() {
    std::fill(views.counts.begin(), views.counts.end(), 0);
    std::memset(views.result.topk_ids.data, 0xFF, 33 * 16);
  }

  verified_rank ranks;
  hand_made_views views{ranks.inputs, verified_rank::rank};
};

TEST_F(verifier_fault_test, a_cleared_dispatch_is_as_it_must_be) {
  clear_views();
  ranks.verifier.check_faulted_dispatch(ranks.inputs, views.result, ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);
}

TEST_F(verifier_fault_test, an_id_left_after_a_faulted_dispatch) {
  clear_views();
  const std::int32_t id = 5;
  std::memcpy(views.row(payload_kind::topk_ids, 13) + 4, &id, 4);
  ranks.verifier.check_faulted_dispatch(ranks.inputs, views.result, ranks.log);
  ASSERT_EQ(ranks.log.total(), 1U);
  const auto& found = ranks.log.kept()[0];
  EXPECT_EQ(found.verdict, verdict::wrong_fault);
  EXPECT_EQ(found.step, verified_rank::step);
  EXPECT_EQ(found.destination, verified_rank::rank);
  EXPECT_EQ(found.buffer, "topk_ids");
  EXPECT_EQ(found.row, 13);
  EXPECT_EQ(found.byte, 4);
  EXPECT_EQ(found.actual, 5U);
}

TEST_F(verifier_fault_test, a_count_left_after_a_faulted_dispatch) {
  clear_views();
  views.counts[1] = 4;
  ranks.verifier.check_faulted_dispatch(ranks.inputs, views.result, ranks.log);
  ASSERT_EQ(ranks.log.total(), 1U);
  EXPECT_EQ(ranks.log.kept()[0].verdict, verdict::wrong_fault);
  EXPECT_EQ(ranks.log.kept()[0].buffer, "recv_counts");
  EXPECT_EQ(ranks.log.kept()[0].byte, 4);
  EXPECT_EQ(ranks.log.kept()[0].actual, 4U);
}

TEST_F(verifier_fault_test, an_output_must_be_nan_throughout) {
  std::vector<std::byte> output(9 * 48, std::byte{0x7F});  // 0x7F7F is a large number, no NaN
  ranks.verifier.check_faulted_output(ranks.inputs, output.data(), ranks.log);
  EXPECT_EQ(ranks.log.total(), 1U);
  std::fill(output.begin(), output.end(), std::byte{0xFF});
  finding_log clean;
  ranks.verifier.check_faulted_output(ranks.inputs, output.data(), clean);
  EXPECT_EQ(clean.total(), 0U);
  output[2 * 48 + 11] = std::byte{0x7F};
  output[2 * 48 + 10] = std::byte{0x80};  // element 5 of row 2 is infinity
  ranks.verifier.check_faulted_output(ranks.inputs, output.data(), clean);
  ASSERT_EQ(clean.total(), 1U);
  EXPECT_EQ(clean.kept()[0].verdict, verdict::wrong_fault);
  EXPECT_EQ(clean.kept()[0].row, 2);
  EXPECT_EQ(clean.kept()[0].byte, 10);
  EXPECT_EQ(clean.kept()[0].actual, 0x7F80U);
}

TEST_F(verifier_fault_test, fences_are_watched_on_both_sides) {
  const auto& ids = ranks.inputs.buffer(payload_kind::topk_ids, verified_rank::rank);
  const auto check = [&] {
    ranks.verifier.check_fence(verified_rank::step, "topk_ids input", ids.bytes(), ids.damage(), ranks.log);
  };
  check();
  ASSERT_EQ(ranks.log.total(), 0U);
  ids.data()[ids.bytes() + 3] ^= std::byte{0xFF};
  check();
  ASSERT_EQ(ranks.log.total(), 1U);
  EXPECT_EQ(ranks.log.kept()[0].verdict, verdict::overrun);
  EXPECT_EQ(ranks.log.kept()[0].buffer, "topk_ids input");
  EXPECT_EQ(ranks.log.kept()[0].byte, 9 * 16 + 3);
  EXPECT_EQ(ranks.log.kept()[0].destination, verified_rank::rank);
  EXPECT_EQ(ranks.log.kept()[0].step, verified_rank::step);
  ids.data()[ids.bytes() + 3] ^= std::byte{0xFF};
  ids.data()[-1] ^= std::byte{0xFF};
  check();
  ASSERT_EQ(ranks.log.total(), 2U);
  EXPECT_EQ(ranks.log.kept()[1].detail, "the byte 1 before the buffer");
}

}  // namespace
}  // namespace switchyard::harness
