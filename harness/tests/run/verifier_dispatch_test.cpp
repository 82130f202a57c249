// SPDX-License-Identifier: Apache-2.0
// One planted error each, and the verdict with its coordinates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "hand_made_step.hpp"

namespace switchyard::harness {
namespace {

class verifier_dispatch_test : public testing::Test {
 protected:
  // Checks the views and returns the only finding.
  finding only_finding() {
    ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
    EXPECT_EQ(ranks.log.total(), 1U);
    if (ranks.log.kept().empty()) return {};
    const finding found = ranks.log.kept()[0];
    EXPECT_EQ(found.step, verified_rank::step);
    EXPECT_EQ(found.destination, verified_rank::rank);
    return found;
  }
  void expect_row(const finding& found, int source, std::int64_t row) {
    EXPECT_EQ(found.source, source);
    EXPECT_EQ(found.row, row);
    EXPECT_EQ(found.token, ranks.token_in(row));
  }
  // A token of `source` that is not routed to the rank under test; -1 when there is none.
  std::int64_t token_elsewhere(int source) {
    const auto& tokens = ranks.inputs.golden(verified_rank::rank).source_tokens;
    const auto begin = tokens.begin() + ranks.row_of(source, 0);
    const auto end = begin + ranks.inputs.plan().tokens_per_rank;
    for (std::int64_t token = 0; token < ranks.spec.num_tokens; ++token) {
      if (std::find(begin, end, token) == end) return token;
    }
    return -1;
  }
  // Bytes of a row as another step has it.
  std::vector<std::byte> row_of_step(int step, payload_kind kind, int source, std::int64_t token) {
    const step_generator generator(ranks.spec, verified_rank::seed, step);
    std::vector<std::byte> row(generator.row_bytes(kind));
    generator.fill_row(kind, source, token, row.data());
    return row;
  }

  verified_rank ranks;
  hand_made_views views{ranks.inputs, verified_rank::rank};
};

TEST_F(verifier_dispatch_test, faultless_views_have_no_findings) {
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);
  std::uint64_t rows = 0;
  for (const std::int32_t count : views.counts) rows += static_cast<std::uint64_t>(count);
  const std::uint64_t padding = 3 * 11 - rows;
  EXPECT_EQ(ranks.verifier.checked_bytes(), rows * (48 + 16 + 16 + 20) + padding * 16 + 3 * 4);
}

TEST_F(verifier_dispatch_test, a_row_never_written_is_lost) {
  const std::int64_t row = ranks.row_of(2, 1);
  std::memset(views.row(payload_kind::hidden_states, row), std::to_integer<int>(poison_byte(verified_rank::step - 1)),
              48);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::loss);
  expect_row(found, 2, row);
  EXPECT_EQ(found.buffer, "hidden_states");
  EXPECT_EQ(found.byte, 0);
  EXPECT_EQ(found.count, 1U);
}

TEST_F(verifier_dispatch_test, a_row_of_zeros_is_lost) {
  const std::int64_t row = ranks.row_of(0, 0);
  std::memset(views.row(payload_kind::extra, row), 0, 20);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::loss);
  expect_row(found, 0, row);
  EXPECT_EQ(found.buffer, "extra");
}

TEST_F(verifier_dispatch_test, a_token_marked_as_padding_is_lost) {
  const std::int64_t row = ranks.row_of(0, 2);
  std::memset(views.row(payload_kind::topk_ids, row), 0xFF, 16);  // -1 in every slot
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::loss);
  expect_row(found, 0, row);
  EXPECT_EQ(found.buffer, "topk_ids");
}

TEST_F(verifier_dispatch_test, half_a_row_not_written_is_lost_from_that_byte) {
  const std::int64_t row = ranks.row_of(2, 0);
  std::memset(views.row(payload_kind::hidden_states, row) + 16,
              std::to_integer<int>(poison_byte(verified_rank::step - 1)), 32);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::loss);
  expect_row(found, 2, row);
  EXPECT_EQ(found.byte, 16);
  EXPECT_GE(found.count, 30U);
}

TEST_F(verifier_dispatch_test, a_row_that_is_also_in_its_own_place_is_a_duplication) {
  const std::int64_t row = ranks.row_of(2, 1);
  const std::int64_t original = ranks.row_of(0, 1);
  std::memcpy(views.row(payload_kind::hidden_states, row), views.row(payload_kind::hidden_states, original), 48);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::duplication);
  expect_row(found, 2, row);
  EXPECT_NE(found.detail.find("row of token " + std::to_string(ranks.token_in(original)) + " of rank 0 in step 2"),
            std::string::npos)
      << found.detail;
  EXPECT_NE(found.detail.find("own row " + std::to_string(original)), std::string::npos) << found.detail;
}

TEST_F(verifier_dispatch_test, two_rows_exchanged_are_two_misplacements) {
  const std::int64_t one = ranks.row_of(0, 0);
  const std::int64_t other = ranks.row_of(1, 1);
  std::swap_ranges(views.row(payload_kind::extra, one), views.row(payload_kind::extra, one) + 20,
                   views.row(payload_kind::extra, other));
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  ASSERT_EQ(ranks.log.total(), 2U);
  for (const auto& found : ranks.log.kept()) {
    EXPECT_EQ(found.verdict, verdict::misplacement);
    EXPECT_EQ(found.buffer, "extra");
  }
  expect_row(ranks.log.kept()[0], 0, one);
  expect_row(ranks.log.kept()[1], 1, other);
}

TEST_F(verifier_dispatch_test, a_row_for_another_rank_is_a_misplacement) {
  const std::int64_t token = token_elsewhere(2);
  ASSERT_GE(token, 0) << "the seed must leave a token of rank 2 that rank 1 does not get";
  const std::int64_t row = ranks.row_of(2, 0);
  std::memcpy(views.row(payload_kind::hidden_states, row), ranks.inputs.row(payload_kind::hidden_states, 2, token), 48);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::misplacement);
  expect_row(found, 2, row);
  EXPECT_NE(found.detail.find("not routed here"), std::string::npos) << found.detail;
}

TEST_F(verifier_dispatch_test, rows_of_the_two_steps_before_are_stale) {
  for (const int step : {1, 0}) {
    verified_rank fresh;
    const auto old = row_of_step(step, payload_kind::topk_weights, 0, 3);
    const std::int64_t row = fresh.row_of(0, 2);
    hand_made_views copy(fresh.inputs, verified_rank::rank);
    std::memcpy(copy.row(payload_kind::topk_weights, row), old.data(), old.size());
    fresh.verifier.check_dispatch(fresh.inputs, copy.result, fresh.log);
    ASSERT_EQ(fresh.log.total(), 1U);
    const auto& found = fresh.log.kept()[0];
    EXPECT_EQ(found.verdict, verdict::stale);
    EXPECT_EQ(found.source, 0);
    EXPECT_EQ(found.row, row);
    EXPECT_EQ(found.token, fresh.token_in(row));
    EXPECT_EQ(found.buffer, "topk_weights");
    EXPECT_EQ(found.detail, "row of token 3 of rank 0 in step " + std::to_string(step));
  }
}

TEST_F(verifier_dispatch_test, a_flipped_bit_is_a_corruption_at_its_byte) {
  const std::int64_t row = ranks.row_of(2, 2);
  std::byte* bytes = views.row(payload_kind::hidden_states, row);
  std::uint16_t before = 0;
  std::memcpy(&before, bytes + 30, 2);
  bytes[31] ^= std::byte{0x10};
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::corruption);
  expect_row(found, 2, row);
  EXPECT_EQ(found.byte, 31);
  EXPECT_EQ(found.expected, before);
  EXPECT_EQ(found.actual, before ^ 0x1000U);
  EXPECT_EQ(found.count, 1U);
}

TEST_F(verifier_dispatch_test, a_wrong_id_is_a_corruption_of_the_ids) {
  const std::int64_t row = ranks.row_of(1, 0);
  const std::int32_t wrong = 77;
  std::memcpy(views.row(payload_kind::topk_ids, row) + 8, &wrong, 4);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::corruption);
  expect_row(found, 1, row);
  EXPECT_EQ(found.byte, 8);
  EXPECT_EQ(found.actual, 77U);
}

TEST_F(verifier_dispatch_test, a_wrong_count_names_its_source) {
  views.counts[2] += 1;
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::wrong_count);
  EXPECT_EQ(found.source, 2);
  EXPECT_EQ(found.byte, 8);
  EXPECT_EQ(found.actual, found.expected + 1);
}

TEST_F(verifier_dispatch_test, an_id_in_a_row_without_a_token_is_bad_padding) {
  const std::int64_t row = ranks.row_of(1, ranks.inputs.plan().tokens_per_rank - 1);
  ASSERT_LT(ranks.token_in(row), 0);
  const std::int32_t id = 3;
  std::memcpy(views.row(payload_kind::topk_ids, row) + 12, &id, 4);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::bad_padding);
  EXPECT_EQ(found.source, 1);
  EXPECT_EQ(found.row, row);
  EXPECT_EQ(found.byte, 12);
  EXPECT_EQ(found.expected, 0xFFFFFFFFU);
  EXPECT_EQ(found.actual, 3U);
}

TEST_F(verifier_dispatch_test, other_bytes_of_a_row_without_a_token_do_not_matter) {
  const std::int64_t row = ranks.row_of(1, ranks.inputs.plan().tokens_per_rank - 1);
  std::memset(views.row(payload_kind::hidden_states, row), 0x5A, 48);
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);
}

TEST_F(verifier_dispatch_test, a_view_of_another_width_is_found) {
  views.result.hidden_states.row_bytes = 46;
  EXPECT_EQ(only_finding().verdict, verdict::corruption);
}

TEST_F(verifier_dispatch_test, all_differences_are_counted_and_the_first_kept) {
  std::uint64_t rows = 0;
  for (std::int64_t row = 0; row < 3 * 11; ++row) {
    if (ranks.token_in(row) < 0) continue;
    views.row(payload_kind::hidden_states, row)[0] ^= std::byte{1};
    ++rows;
  }
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  ASSERT_GT(rows, max_findings);
  EXPECT_EQ(ranks.log.total(), rows);
  EXPECT_EQ(ranks.log.kept().size(), max_findings);
}

// Rows with gaps between them are checked as rows without are.
TEST(verifier_positional_test, a_faultless_dispatch_has_no_finding_and_a_row_moved_up_has) {
  verified_rank ranks(small_case(3));
  ASSERT_EQ(ranks.inputs.plan().transport, transport::lamport);
  hand_made_views views(ranks.inputs, verified_rank::rank);
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);

  // As a packed row would: the first token that came stands in a row before its own.
  const auto& tokens = ranks.inputs.golden(verified_rank::rank).source_tokens;
  const auto gap = std::find(tokens.begin(), tokens.end(), -1) - tokens.begin();
  const auto next = std::find_if(tokens.begin() + gap, tokens.end(), [](auto token) { return token >= 0; });
  ASSERT_NE(next, tokens.end());
  auto& ids = views.result.topk_ids;
  std::memcpy(ids.data + static_cast<std::size_t>(gap) * ids.row_bytes,
              ids.data + static_cast<std::size_t>(next - tokens.begin()) * ids.row_bytes, ids.row_bytes);
  ranks.verifier.check_dispatch(ranks.inputs, views.result, ranks.log);
  ASSERT_EQ(ranks.log.total(), 1U);
  EXPECT_EQ(ranks.log.kept()[0].verdict, verdict::bad_padding);
}

}  // namespace
}  // namespace switchyard::harness
