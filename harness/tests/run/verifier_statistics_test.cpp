// SPDX-License-Identifier: Apache-2.0
// What is said of gathered statistics in which an error is planted.
#include <gtest/gtest.h>

#include <numeric>

#include "hand_made_step.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t length = 10;  // the experts of the small case

case_spec with_statistics() {
  auto spec = packed_case();
  spec.eplb_stats = length;
  return spec;
}

class verifier_statistics_test : public testing::Test {
 protected:
  std::int32_t* row(int source) { return views.statistics.data() + static_cast<std::size_t>(source) * length; }
  finding only_finding() {
    ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
    EXPECT_EQ(ranks.log.total(), 1U);
    if (ranks.log.kept().empty()) return {};
    const auto found = ranks.log.kept()[0];
    EXPECT_EQ(found.buffer, "eplb_gathered_stats");
    EXPECT_EQ(found.step, verified_rank::step);
    EXPECT_EQ(found.destination, verified_rank::rank);
    return found;
  }

  verified_rank ranks{with_statistics()};
  hand_made_views views{ranks.inputs, verified_rank::rank};
};

TEST_F(verifier_statistics_test, of_every_rank_are_right) {
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);
  ASSERT_EQ(views.statistics.size(), 3 * length);
  EXPECT_EQ(std::accumulate(views.statistics.begin(), views.statistics.end(), 0), 3 * 9 * 4) << "4 choices a token";
}

TEST_F(verifier_statistics_test, with_one_wrong_number_are_a_wrong_count) {
  ++row(2)[4];
  const auto found = only_finding();
  EXPECT_EQ(found.verdict, verdict::wrong_count);
  EXPECT_EQ(found.source, 2);
  EXPECT_EQ(found.byte, 16);
  EXPECT_EQ(found.actual, found.expected + 1);
  EXPECT_EQ(found.count, 4U);
}

TEST_F(verifier_statistics_test, that_nobody_wrote_are_lost) {
  const auto poison = poison_byte(verified_rank::step - 1);
  std::memset(row(0), std::to_integer<int>(poison), 4 * length);
  EXPECT_EQ(only_finding().verdict, verdict::loss);
}

TEST_F(verifier_statistics_test, of_another_rank_are_misplaced) {
  std::copy_n(row(2), length, row(0));
  const auto found = only_finding();
  EXPECT_EQ(found.verdict, verdict::misplacement);
  EXPECT_EQ(found.source, 0);
  EXPECT_EQ(found.detail, "the statistics of rank 2");
}

TEST_F(verifier_statistics_test, of_an_earlier_step_are_stale) {
  ranks.inputs.generate(verified_rank::seed, verified_rank::step - 1);
  const hand_made_views before(ranks.inputs, verified_rank::rank);
  ranks.verifier.check_dispatch(ranks.inputs, before.result, ranks.log);
  ranks.inputs.generate(verified_rank::seed, verified_rank::step);
  std::copy_n(before.statistics.data() + length, length, row(1));
  const auto found = only_finding();
  EXPECT_EQ(found.verdict, verdict::stale);
  EXPECT_EQ(found.detail, "the statistics of this rank in step 1");
}

TEST_F(verifier_statistics_test, of_another_length_are_a_wrong_count) {
  views.result.eplb_gathered_stats = views.result.eplb_gathered_stats.first(3 * length - 1);
  const auto found = only_finding();
  EXPECT_EQ(found.verdict, verdict::wrong_count);
  EXPECT_EQ(found.expected, 3 * length);
}

TEST_F(verifier_statistics_test, of_a_faulted_dispatch_must_be_zero) {
  std::fill(views.counts.begin(), views.counts.end(), 0);
  for (std::int64_t i = 0; i < ranks.inputs.ep_size() * ranks.inputs.plan().tokens_per_rank; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      std::memcpy(views.row(payload_kind::topk_ids, i) + 4 * k, &ranks.spec.params.invalid_expert_id, 4);
    }
  }
  std::fill(views.statistics.begin(), views.statistics.end(), 0);
  ranks.verifier.check_faulted_dispatch(ranks.inputs, views.result, ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);
  row(1)[3] = 7;
  ranks.verifier.check_faulted_dispatch(ranks.inputs, views.result, ranks.log);
  ASSERT_EQ(ranks.log.total(), 1U);
  EXPECT_EQ(ranks.log.kept()[0].verdict, verdict::wrong_fault);
  EXPECT_EQ(ranks.log.kept()[0].buffer, "eplb_gathered_stats");
}

}  // namespace
}  // namespace switchyard::harness
