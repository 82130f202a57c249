// SPDX-License-Identifier: Apache-2.0
// Pairwise groups and exclusions in scenario files.
#include <algorithm>
#include <set>

#include "scenario_text.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness {
namespace {

using ids = std::vector<std::string>;

std::string swept_shape(const std::string& group) {
  return R"({"name": "s", "sentence": "x", "num_experts": 10, "top_k": 4, "hidden_size": 64, "sweep": )" + group + "}";
}

suite suite_of(const std::string& group) { return parse_suite(suite_text(swept_shape(group)), "t.json"); }

std::string refused(const std::string& group, rule_kind kind) {
  try {
    suite_of(group);
  } catch (const input_error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused: " << group;
  return {};
}

expand_options with_ranks(std::int64_t ranks) {
  expand_options options;
  options.overrides.emplace("ranks", field_setting{ranks, {"--ranks", ""}});
  return options;
}

TEST(exclude, a_product_does_not_make_what_a_pattern_matches) {
  EXPECT_EQ(ids_of(cases_of_text(swept_shape(R"({"kind": "product", "axes": {"ranks": [2, 3], "tokens": [0, 1, 2]},
                "exclude": [{"ranks": [2], "tokens": [0, 2]}, {"tokens": [1], "ranks": [3]}]})"))),
            (ids{"t/s@ranks=2,tokens=1", "t/s@ranks=3,tokens=0", "t/s@ranks=3,tokens=2"}));
}

TEST(exclude, pairwise_makes_every_pair_but_the_excluded) {
  const auto cases = cases_of_text(swept_shape(R"({"kind": "pairwise",
      "axes": {"ranks": [2, 3, 4], "tokens": [0, 1, 2], "blocks": [1, 2], "inject.step": [0, 1], "inject.rank": [1],
               "inject.kind": ["stop"],
               "expected_fault": ["timeout"], "topk_weights": [true, false], "variation": ["fixed", "vary"]},
      "exclude": [{"ranks": [4], "tokens": [2]}, {"variation": ["vary"], "inject.step": [1]}]})"));
  EXPECT_LE(cases.size(), 13U);
  EXPECT_GE(cases.size(), 8U);
  std::set<std::pair<int, std::int64_t>> shapes;
  for (const auto& spec : cases) {
    shapes.emplace(spec.ep_size, spec.num_tokens);
    EXPECT_FALSE(spec.variation == step_variation::vary && spec.inject->step == 1) << spec.id;
  }
  EXPECT_EQ(shapes.size(), 8U);
  EXPECT_EQ(shapes.count({4, 2}), 0U);
}

TEST(exclude, an_override_drops_its_axis_and_keeps_the_patterns_that_it_matches) {
  const auto from = suite_of(R"({"kind": "pairwise",
      "axes": {"ranks": [2, 3, 4], "tokens": [0, 1], "blocks": [1, 2]},
      "exclude": [{"ranks": [4], "tokens": [1], "blocks": [1]}]})");
  const auto two = ids_of(expand(from, one_profile(), with_ranks(2)));
  EXPECT_EQ(std::set<std::string>(two.begin(), two.end()),
            (std::set<std::string>{"t/s@blocks=1,ranks=2,tokens=0", "t/s@blocks=1,ranks=2,tokens=1",
                                   "t/s@blocks=2,ranks=2,tokens=0", "t/s@blocks=2,ranks=2,tokens=1"}));
  EXPECT_EQ(two.size(), 4U);
  const auto four = ids_of(expand(from, one_profile(), with_ranks(4)));
  EXPECT_EQ(four.size(), 3U);
  EXPECT_EQ(std::count(four.begin(), four.end(), "t/s@blocks=1,ranks=4,tokens=1"), 0);
}

TEST(exclude, an_override_that_leaves_nothing_is_refused) {
  const auto from = suite_of(R"({"kind": "product", "axes": {"ranks": [2, 3], "tokens": [0, 1]},
      "exclude": [{"ranks": [3], "tokens": [0]}]})");
  EXPECT_EQ(ids_of(expand(from, one_profile(), with_ranks(3))), ids{"t/s@ranks=3,tokens=1"});
  auto options = with_ranks(3);
  options.overrides.emplace("tokens", field_setting{std::int64_t{0}, {"--tokens", ""}});
  EXPECT_EQ(refusal([&] { expand(from, one_profile(), options); }),
            "t.json: /scenarios/0/sweep/exclude/0: excludes every combination with what is set instead of the sweep");
}

TEST(exclude, ids_of_a_pairwise_group_lead_back) {
  const auto from = suite_of(R"({"kind": "pairwise", "axes": {"ranks": [2, 3], "tokens": [0, 1], "blocks": [1, 2]}})");
  const auto cases = expand(from, one_profile());
  EXPECT_EQ(cases.size(), 4U);
  for (const auto& spec : cases) EXPECT_EQ(expand_one(from, parse_case_id(spec.id), one_profile()).id, spec.id);
}

TEST(exclude, what_is_written_wrongly) {
  const std::string at = "t.json: /scenarios/0/sweep";
  const auto form = [&](const std::string& exclude, const std::string& kind = "product") {
    return refused(
        R"({"kind": ")" + kind + R"(", "axes": {"ranks": [2, 3], "tokens": [1, 2]}, "exclude": )" + exclude + "}",
        rule_kind::form);
  };
  EXPECT_EQ(form("[]"), at + "/exclude: []: must have at least one pattern");
  EXPECT_EQ(form("{}"), at + "/exclude: {}: must be an array");
  EXPECT_EQ(form("[3]"), at + "/exclude/0: 3: must be an object");
  EXPECT_EQ(form("[{}]"), at + "/exclude/0: {}: must have at least one member");
  EXPECT_EQ(form(R"([{"rank": [2]}])"), at + "/exclude/0/rank: [2]: unknown field");
  EXPECT_EQ(form(R"([{"ranks": 2}])"), at + "/exclude/0/ranks: 2: must be an array");
  EXPECT_EQ(form(R"([{"ranks": []}])"), at + "/exclude/0/ranks: []: must have at least one value");
  EXPECT_EQ(form(R"([{"ranks": [0]}])"), at + "/exclude/0/ranks/0: 0: must be an integer from 1 to 256");
  EXPECT_EQ(form(R"([{"ranks": [2]}])", "zip"),
            at + R"(/exclude: [{"ranks":[2]}]: a zip makes only what it says: take the combination out of it)");
}

TEST(exclude, what_does_not_go_together) {
  const std::string at = "t.json: /scenarios/0/sweep";
  const auto relation = [&](const std::string& exclude) {
    return refused(R"({"kind": "pairwise", "axes": {"ranks": [2, 3], "tokens": [1, 2]}, "exclude": )" + exclude + "}",
                   rule_kind::relation);
  };
  EXPECT_EQ(relation(R"([{"steps": [2]}])"), at + "/exclude/0/steps: is no axis of this group");
  EXPECT_EQ(relation(R"([{"ranks": [2, 5], "tokens": [1]}])"),
            at + "/exclude/0/ranks/1: 5: is no value of the axis ranks");
  EXPECT_EQ(relation(R"([{"ranks": [2, 2], "tokens": [1]}])"), at + "/exclude/0/ranks/1: 2: this value is there twice");
  EXPECT_EQ(relation(R"([{"ranks": [2, 3]}])"), at + "/exclude: leaves no combination of the axes");
  EXPECT_EQ(relation(R"([{"ranks": [2], "tokens": [1]}, {"ranks": [2], "tokens": [2]}])"),
            at + "/axes/ranks/0: 2: is in no combination that exclude leaves: take it out");
}

TEST(exclude, a_pairwise_group_of_huge_axes_is_refused) {
  std::string values = "1";
  for (int value = 2; value <= 101; ++value) values.append(1, ',').append(std::to_string(value));
  const auto from =
      suite_of(R"({"kind": "pairwise", "axes": {"ranks": [)" + values + R"(], "tokens": [)" + values + "]}}");
  EXPECT_EQ(refusal([&] { expand(from, one_profile()); }),
            "t.json: /scenarios/0/sweep: 101 and 101 values: two axes must have at most 10000 pairs of values");
}

}  // namespace
}  // namespace switchyard::harness
