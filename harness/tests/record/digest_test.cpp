// SPDX-License-Identifier: Apache-2.0
// Digests differ where runs differ, and nowhere else.
#include "switchyard/harness/digest.hpp"

#include <gtest/gtest.h>

#include "sample_results.hpp"

namespace switchyard::harness {
namespace {

TEST(cases_digest, is_that_of_ids_fields_and_order) {
  const std::vector<case_spec> cases{sample_spec("a", "ranks=2"), sample_spec("b", "ranks=2")};
  const auto digest = cases_digest(cases);
  EXPECT_EQ(digest, cases_digest(cases));
  EXPECT_NE(digest, cases_digest({cases[1], cases[0]}));
  EXPECT_NE(digest, cases_digest({cases[0]}));
  auto other = cases;
  other[1].steps += 1;
  EXPECT_NE(digest, cases_digest(other));
  EXPECT_NE(cases_digest({}), 0U);
}

TEST(inputs_digest, follows_the_seed_and_the_shapes) {
  const auto spec = sample_spec("a", "ranks=2");
  const auto digest = inputs_digest(spec, 5);
  EXPECT_EQ(digest, inputs_digest(spec, 5));
  EXPECT_NE(digest, inputs_digest(spec, 6));
  auto other = spec;
  other.num_tokens -= 1;
  EXPECT_NE(digest, inputs_digest(other, 5));
  other = spec;
  other.routing = routing_law::balanced;
  EXPECT_NE(digest, inputs_digest(other, 5));
  other = spec;
  other.timeout *= 2;  // feeds the library nothing
  EXPECT_EQ(digest, inputs_digest(other, 5));
}

TEST(inputs_digest, takes_a_case_without_tokens) {
  auto spec = sample_spec("a", "ranks=2");
  spec.num_tokens = 0;
  EXPECT_NE(inputs_digest(spec, 5), inputs_digest(sample_spec("a", "ranks=2"), 5));
}

}  // namespace
}  // namespace switchyard::harness
