// SPDX-License-Identifier: Apache-2.0
// Inputs that contradict the shape are refused with a message that names field, value and rule.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/reference/simulated_expert.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

using tests::shape_of;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const invalid_argument& refused) {
    return refused.what();
  }
  return "accepted";
}

std::string refusal(const step_shape& shape, const std::vector<rank_routing>& routing) {
  std::string of_dispatch = refusal([&] { dispatch(shape, routing); });
  EXPECT_EQ(of_dispatch, refusal([&] { count_traffic(shape, routing, 1); }));
  return of_dispatch;
}

const std::vector<rank_routing> two_empty(2);

TEST(checks, the_shape_that_the_others_change_is_legal) {
  EXPECT_EQ(refusal(shape_of(2, 4, 2, 3), two_empty), "accepted");
}

TEST(checks, sizes) {
  EXPECT_EQ(refusal(shape_of(0, 4, 2, 3), two_empty), "ep_size is 0, but must be 1 .. 256");
  EXPECT_EQ(refusal(shape_of(257, 400, 2, 3), two_empty), "ep_size is 257, but must be 1 .. 256");
  EXPECT_EQ(refusal(shape_of(2, 1, 1, 3), two_empty), "num_experts is 1, but must be >= ep_size (2)");
  EXPECT_EQ(refusal(shape_of(2, 4, 0, 3), two_empty), "top_k is 0, but must be 1 .. 4");
  EXPECT_EQ(refusal(shape_of(2, 4, 5, 3), two_empty), "top_k is 5, but must be 1 .. 4");
  EXPECT_EQ(refusal(shape_of(2, 64, 33, 3), two_empty), "top_k is 33, but must be 1 .. 32");
  EXPECT_EQ(refusal(shape_of(2, 4, 2, 3, 0), two_empty), "hidden_size is 0, but must be > 0");
  EXPECT_EQ(refusal(shape_of(2, 4, 2, 0), two_empty), "max_tokens_per_rank is 0, but must be > 0");
}

TEST(checks, an_invalid_id_that_is_an_expert) {
  step_shape shape = shape_of(2, 4, 2, 3);
  shape.params.invalid_expert_id = 3;
  EXPECT_EQ(refusal(shape, two_empty), "invalid_expert_id is 3, but must be outside [0, 4)");
}

TEST(checks, row_stride) {
  step_shape shape = shape_of(2, 4, 2, 3);
  shape.tokens_per_rank = 0;
  EXPECT_EQ(refusal(shape, two_empty), "tokens_per_rank is 0, but must be 1 .. 3");
  shape.tokens_per_rank = 4;
  EXPECT_EQ(refusal(shape, two_empty), "tokens_per_rank is 4, but must be 1 .. 3");
}

TEST(checks, routing) {
  const step_shape shape = shape_of(2, 4, 2, 1);
  EXPECT_EQ(refusal(shape, {{}}), "routing has 1 entries, but must have ep_size (2)");
  EXPECT_EQ(refusal(shape, {{}, {2, {0, 1, 2, 3}}}), "num_tokens of rank 1 is 2, but must be 0 .. 1");
  EXPECT_EQ(refusal(shape, {{-1, {}}, {}}), "num_tokens of rank 0 is -1, but must be 0 .. 1");
  EXPECT_EQ(refusal(shape, {{}, {1, {0}}}), "topk_ids of rank 1 has 1 ids, but must have num_tokens * top_k (2)");
  EXPECT_EQ(refusal(shape, {{0, {0, 1}}, {}}), "topk_ids of rank 0 has 2 ids, but must have num_tokens * top_k (0)");
}

TEST(checks, combine_token) {
  const tests::byte_row row(4);
  tests::byte_row out(4);
  const std::vector<const std::byte*> rows{row.data(), nullptr};
  const std::vector<int> owners{0, 1};
  const auto call = [&](std::span<const int> of, std::byte* to) {
    return refusal([&] { combine_token(rows, of, 2, dtype::bf16, sum_order::slot_order, to); });
  };
  EXPECT_EQ(call({}, out.data()), "combine_token: owners has 0 entries, but rows has 2; each row needs its owner");
  EXPECT_EQ(call(owners, out.data()), "combine_token: rows[1] is null");
  EXPECT_EQ(call(owners, nullptr), "combine_token: out is null, but elements > 0");
}

TEST(checks, simulated_expert_row) {
  const comm_params params = shape_of(2, 4, 2, 1, 2).params;
  const tests::byte_row row(4);
  tests::byte_row out(4);
  const std::vector<std::int32_t> ids{0, 1};
  const std::vector<float> weights{1.0F};
  const auto call = [&](int owner, std::span<const std::int32_t> of, std::span<const float> weigh, const std::byte* in,
                        std::byte* to) {
    return refusal([&] { simulated_expert_row(owner, 2, params, of, weigh, in, nullptr, to); });
  };
  EXPECT_EQ(call(0, ids, {}, row.data(), out.data()), "accepted");
  EXPECT_EQ(call(2, ids, {}, row.data(), out.data()), "simulated_expert_row: owner is 2, but must be 0 .. 1");
  EXPECT_EQ(call(0, {}, {}, row.data(), out.data()), "simulated_expert_row: topk_ids has 0 ids, but top_k is 2");
  EXPECT_EQ(call(0, ids, weights, row.data(), out.data()),
            "simulated_expert_row: topk_weights has 1 weights, but must have none or top_k (2)");
  EXPECT_EQ(call(0, ids, {}, nullptr, out.data()), "simulated_expert_row: hidden_row is null");
  EXPECT_EQ(call(0, ids, {}, row.data(), nullptr), "simulated_expert_row: out is null");
  auto scaled = params;
  scaled.dispatch_format = dispatch_format::mxfp8;
  EXPECT_EQ(refusal([&] { simulated_expert_row(0, 2, scaled, ids, {}, row.data(), nullptr, out.data()); }),
            "simulated_expert_row: scale_row is null");
}

}  // namespace
}  // namespace switchyard::reference
