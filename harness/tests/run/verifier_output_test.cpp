// SPDX-License-Identifier: Apache-2.0
// Planted errors in what combine returned.
#include <gtest/gtest.h>

#include <cstring>

#include "hand_made_step.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t row_bytes = 48;

class verifier_output_test : public testing::Test {
 protected:
  finding only_finding() {
    ranks.verifier.check_output(ranks.inputs, output.data(), ranks.log);
    EXPECT_EQ(ranks.log.total(), 1U);
    if (ranks.log.kept().empty()) return {};
    const finding found = ranks.log.kept()[0];
    EXPECT_EQ(found.step, verified_rank::step);
    EXPECT_EQ(found.destination, verified_rank::rank);
    EXPECT_EQ(found.buffer, "output");
    return found;
  }
  std::byte* row(std::int64_t token) { return output.data() + static_cast<std::size_t>(token) * row_bytes; }

  verified_rank ranks;
  std::vector<std::byte> output = hand_made_output(ranks.inputs, verified_rank::rank);
};

TEST_F(verifier_output_test, the_golden_sums_have_no_findings) {
  ranks.verifier.check_output(ranks.inputs, output.data(), ranks.log);
  EXPECT_EQ(ranks.log.total(), 0U);
  EXPECT_EQ(ranks.verifier.checked_bytes(), 9 * row_bytes);
}

TEST_F(verifier_output_test, the_last_bit_of_one_element_is_a_wrong_sum) {
  std::uint16_t right = 0;
  std::memcpy(&right, row(4) + 20, 2);
  row(4)[20] ^= std::byte{1};
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::wrong_sum);
  EXPECT_EQ(found.token, 4);
  EXPECT_EQ(found.row, 4);
  EXPECT_EQ(found.byte, 20);
  EXPECT_EQ(found.expected, right);
  EXPECT_EQ(found.actual, right ^ 1U);
  EXPECT_EQ(found.count, 1U);
  EXPECT_NE(found.detail.find("element 10 is the first of 1"), std::string::npos) << found.detail;
}

TEST_F(verifier_output_test, a_row_that_combine_did_not_write_is_lost) {
  std::memset(row(0), std::to_integer<int>(poison_byte(verified_rank::step)), row_bytes);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::loss);
  EXPECT_EQ(found.token, 0);
}

TEST_F(verifier_output_test, the_sum_of_another_token_is_a_misplacement) {
  std::memcpy(row(2), row(7), row_bytes);
  const finding found = only_finding();
  EXPECT_EQ(found.verdict, verdict::misplacement);
  EXPECT_EQ(found.token, 2);
  EXPECT_NE(found.detail.find("token 7 in step 2"), std::string::npos) << found.detail;
}

TEST_F(verifier_output_test, a_sum_of_the_step_before_is_stale) {
  ranks.verifier.check_output(ranks.inputs, output.data(), ranks.log);
  ASSERT_EQ(ranks.log.total(), 0U);
  const std::vector<std::byte> old(row(5), row(5) + row_bytes);
  ranks.inputs.generate(verified_rank::seed, verified_rank::step + 1);
  output = hand_made_output(ranks.inputs, verified_rank::rank);
  std::memcpy(row(5), old.data(), row_bytes);
  ranks.verifier.check_output(ranks.inputs, output.data(), ranks.log);
  ASSERT_EQ(ranks.log.total(), 1U);
  const auto& found = ranks.log.kept()[0];
  EXPECT_EQ(found.verdict, verdict::stale);
  EXPECT_EQ(found.step, verified_rank::step + 1);
  EXPECT_EQ(found.token, 5);
  EXPECT_NE(found.detail.find("token 5 in step 2"), std::string::npos) << found.detail;
}

// Experts that multiply by no scale, or by those of another token.
TEST_F(verifier_output_test, sums_of_elements_without_their_scales_are_wrong) {
  for (const auto format :
       {dispatch_format::fp8_block128, dispatch_format::mxfp8, dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    auto spec = packed_case();
    spec.params.dispatch_format = format;
    verified_rank scaled(spec);
    const auto findings_with = [&](const std::byte* scales) {
      const auto sums = hand_made_output(scaled.inputs, verified_rank::rank, reference::expert_law::scaled, scales);
      finding_log log;
      scaled.verifier.check_output(scaled.inputs, sums.data(), log);
      return log.total();
    };
    EXPECT_EQ(findings_with(nullptr), 0U) << to_string(format);
    std::vector<std::byte> ones(scaled.inputs.generator().row_bytes(payload_kind::hidden_states_scale));
    auto of_ones = spec;
    of_ones.values = hidden_values::ones;
    step_generator(of_ones, 1, 0).fill_row(payload_kind::hidden_states_scale, 0, 0, ones.data());
    EXPECT_GE(findings_with(ones.data()), 8U) << to_string(format) << ": all of 9 but for a scale of 1 by chance";
    const auto* first = scaled.inputs.row(payload_kind::hidden_states_scale, verified_rank::rank, 0);
    EXPECT_GE(findings_with(first), 6U) << to_string(format) << ": scales may be alike";
  }
}

TEST_F(verifier_output_test, narrow_combines_and_wide_elements) {
  auto spec = small_case(3);
  spec.variation = step_variation::vary;
  spec.params.dtype = dtype::fp32;
  spec.steps = 30;
  bool narrow = false;
  for (int step = 0; step < spec.steps; ++step) {
    verified_rank varying(spec);
    varying.inputs.generate(verified_rank::seed, step);
    const auto width = varying.inputs.plan().combine_hidden_size;
    auto sums = hand_made_output(varying.inputs, verified_rank::rank);
    varying.verifier.check_output(varying.inputs, sums.data(), varying.log);
    ASSERT_EQ(varying.log.total(), 0U) << "step " << step;
    if (width == spec.params.hidden_size || sums.empty()) continue;
    narrow = true;
    sums.back() ^= std::byte{0x80};
    varying.verifier.check_output(varying.inputs, sums.data(), varying.log);
    ASSERT_EQ(varying.log.total(), 1U) << "step " << step;
    EXPECT_EQ(varying.log.kept()[0].byte, (width - 1) * 4);
  }
  EXPECT_TRUE(narrow);
}

}  // namespace
}  // namespace switchyard::harness
