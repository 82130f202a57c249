// SPDX-License-Identifier: Apache-2.0
// Expansion of sweeps and case ids.
#include "switchyard/harness/sweep.hpp"

#include "scenario_text.hpp"

namespace switchyard::harness {
namespace {

using ids = std::vector<std::string>;

suite swept_suite() {
  return parse_suite(suite_text(R"({"name": "s", "sentence": "x", "profile": "tiny", "steps": 5, "sweep": [
      {"kind": "product", "axes": {"tokens": [16, 1], "ranks": [2, 3]}},
      {"kind": "zip", "axes": {"workers": [1, 3], "blocks": [2, 4]}}]})"),
                     "t.json");
}

field_settings ranks_set_to(std::int64_t ranks) {
  field_settings overrides;
  overrides.emplace("ranks", field_setting{ranks, {"--ranks", ""}});
  return overrides;
}

TEST(sweep, a_product_has_every_combination_and_a_zip_walks) {
  const auto cases = expand(swept_suite(), one_profile());
  EXPECT_EQ(ids_of(cases), (ids{
                               "t/s@blocks=2,ranks=2,tokens=16,workers=1",
                               "t/s@blocks=4,ranks=2,tokens=16,workers=3",
                               "t/s@blocks=2,ranks=2,tokens=1,workers=1",
                               "t/s@blocks=4,ranks=2,tokens=1,workers=3",
                               "t/s@blocks=2,ranks=3,tokens=16,workers=1",
                               "t/s@blocks=4,ranks=3,tokens=16,workers=3",
                               "t/s@blocks=2,ranks=3,tokens=1,workers=1",
                               "t/s@blocks=4,ranks=3,tokens=1,workers=3",
                           }));
  EXPECT_EQ(cases[5].blocks, 4);
  EXPECT_EQ(cases[5].ep_size, 3);
  EXPECT_EQ(cases[5].num_tokens, 16);
  EXPECT_EQ(cases[5].workers, 3);
  EXPECT_EQ(cases[5].steps, 5);
}

TEST(sweep, words_flags_and_members_of_inject_can_be_swept) {
  const auto cases = cases_of_text(shapeless_text(R"(, "steps": 2, "expected_fault": "timeout",
      "inject": {"kind": "stop", "rank": 1},
      "sweep": {"kind": "zip", "axes": {"profile": ["tiny"], "topk_weights": [false], "inject.phase": ["combine"],
                                        "inject.step": [1]}})"));
  EXPECT_EQ(ids_of(cases), ids{"t/s@inject.phase=combine,inject.step=1,profile=tiny,topk_weights=false"});
  EXPECT_EQ(cases.front().inject->phase, phase::combine);
  EXPECT_EQ(cases.front().inject->rank, 1);
  EXPECT_EQ(cases.front().inject->step, 1);
  EXPECT_FALSE(cases.front().topk_weights);
}

TEST(sweep, an_override_replaces_an_axis_and_stands_in_the_id) {
  expand_options options;
  options.overrides = ranks_set_to(5);
  EXPECT_EQ(ids_of(expand(swept_suite(), one_profile(), options)),
            (ids{"t/s@blocks=2,ranks=5,tokens=16,workers=1", "t/s@blocks=4,ranks=5,tokens=16,workers=3",
                 "t/s@blocks=2,ranks=5,tokens=1,workers=1", "t/s@blocks=4,ranks=5,tokens=1,workers=3"}));
}

TEST(sweep, an_override_replaces_a_fixed_field_and_stands_in_the_id) {
  const auto from = parse_suite(suite_text(scenario_text("")), "t.json");
  expand_options options;
  options.overrides = ranks_set_to(7);
  const auto cases = expand(from, one_profile(), options);
  EXPECT_EQ(ids_of(cases), ids{"t/s@ranks=7"});
  EXPECT_EQ(cases.front().ep_size, 7);
}

TEST(sweep, an_override_of_one_axis_of_a_zip_leaves_no_case_twice) {
  const auto from = parse_suite(suite_text(R"({"name": "s", "sentence": "x", "profile": "tiny", "tokens": 1, "sweep":
      {"kind": "zip", "axes": {"ranks": [2, 3, 4], "blocks": [1, 2, 1]}}})"),
                                "t.json");
  expand_options options;
  options.overrides = ranks_set_to(6);
  EXPECT_EQ(ids_of(expand(from, one_profile(), options)), (ids{"t/s@blocks=1,ranks=6", "t/s@blocks=2,ranks=6"}));
}

TEST(sweep, cases_that_are_not_kept_may_be_impossible) {
  const auto from = parse_suite(suite_text(R"({"name": "s", "sentence": "x", "profile": "tiny", "tokens": 1, "sweep":
      {"kind": "product", "axes": {"ranks": [6, 7]}}})"),
                                "t.json");
  EXPECT_EQ(
      refusal([&] { expand(from, one_profile()); }),
      "t.json: /scenarios/0/sweep/axes/ranks/1: 7: must be at most num_experts (6): every rank owns an expert (case "
      "t/s@ranks=7)");
  expand_options options;
  options.keep = [](const std::string& id) { return id == "t/s@ranks=6"; };
  EXPECT_EQ(ids_of(expand(from, one_profile(), options)), ids{"t/s@ranks=6"});
}

TEST(sweep, every_id_leads_back_to_its_case) {
  const auto from = swept_suite();
  for (const auto& spec : expand(from, one_profile())) {
    const auto again = expand_one(from, parse_case_id(spec.id), one_profile());
    EXPECT_EQ(again.id, spec.id);
    EXPECT_EQ(again.ep_size, spec.ep_size);
    EXPECT_EQ(again.num_tokens, spec.num_tokens);
    EXPECT_EQ(again.blocks, spec.blocks);
    EXPECT_EQ(again.workers, spec.workers);
    EXPECT_EQ(again.params, spec.params);
  }
}

TEST(sweep, an_id_may_set_more_than_is_swept_and_in_any_order) {
  const auto one =
      expand_one(swept_suite(), parse_case_id("t/s@workers=1,tokens=0,steps=9,ranks=5,blocks=1"), one_profile());
  EXPECT_EQ(one.id, "t/s@blocks=1,ranks=5,steps=9,tokens=0,workers=1");
  EXPECT_EQ(one.steps, 9);
}

TEST(sweep, bad_ids) {
  const auto from = swept_suite();
  const auto refused = [&](const std::string& id) {
    return refusal([&] { expand_one(from, parse_case_id(id), one_profile()); });
  };
  const std::string form = ": must be suite/scenario@key=value,...: ";
  EXPECT_EQ(refused(""), "case id " + form + "no '/'");
  EXPECT_EQ(refused("t"), "case id t" + form + "no '/'");
  EXPECT_EQ(refused("/s"), "case id /s" + form + "suite or scenario is empty");
  EXPECT_EQ(refused("t/@a=1"), "case id t/@a=1" + form + "suite or scenario is empty");
  EXPECT_EQ(refused("t/s@"), "case id t/s@" + form + "not key=value");
  EXPECT_EQ(refused("t/s@ranks"), "case id t/s@ranks" + form + "not key=value");
  EXPECT_EQ(refused("t/s@ranks="), "case id t/s@ranks=" + form + "not key=value");
  EXPECT_EQ(refused("t/s@=2"), "case id t/s@=2" + form + "not key=value");
  EXPECT_EQ(refused("t/s@ranks=2,"), "case id t/s@ranks=2," + form + "not key=value");
  EXPECT_EQ(refused("t/s@ranks=2,ranks=3"), "case id t/s@ranks=2,ranks=3" + form + "key ranks is there twice");
  EXPECT_EQ(refused("t/none"), "suite t has no scenario none");
  EXPECT_EQ(refused("t/s@rank=2"), "case id: @rank: 2: unknown field");
  EXPECT_EQ(refused("t/s@ranks=0"), "case id: @ranks: 0: must be an integer from 1 to 256");
  EXPECT_EQ(refused("t/s@ranks=2"), "case id: @tokens: missing: t/s sweeps it");
  EXPECT_EQ(refused("t/s@blocks=1,ranks=7,tokens=1,workers=1"),
            "case id: @ranks: 7: must be at most num_experts (6): every rank owns an expert (case "
            "t/s@blocks=1,ranks=7,tokens=1,workers=1)");
}

}  // namespace
}  // namespace switchyard::harness
