// SPDX-License-Identifier: Apache-2.0
// Drawn cases: legal, repeatable, inside their limits, of every field, and often at the ends.
#include "switchyard/harness/random_cases.hpp"

#include <map>
#include <set>

#include "scenario_text.hpp"
#include "switchyard/harness/scenario_fields.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t many_draws = 20'000;

TEST(random_cases, are_never_refused_and_stay_inside_the_limits) {
  const random_limits limits;
  for (std::uint64_t number = 0; number < many_draws; ++number) {
    case_spec spec;
    ASSERT_NO_THROW(spec = draw_case(3, number, limits)) << "draw " << number;
    ASSERT_LE(spec.ep_size, limits.max_ranks) << spec.id;
    ASSERT_LE(spec.params.num_experts, limits.max_experts) << spec.id;
    ASSERT_LE(spec.params.hidden_size, limits.max_hidden) << spec.id;
    ASSERT_LE(spec.params.max_tokens_per_rank, limits.max_tokens) << spec.id;
    ASSERT_LE(spec.steps, limits.max_steps) << spec.id;
    ASSERT_LE(required_bytes(spec), limits.max_bytes) << spec.id;
  }
}

TEST(random_cases, take_every_field_of_the_table_with_two_values_or_more_and_every_word) {
  // A new field or word belongs here only with a reason; else the drawer has to take it up.
  const std::map<std::string, std::string_view> never_drawn{
      {"profile", "shapes of models are too large for a case of some milliseconds"},
      {"launch", "the host fabric has no graphs to replay; tests on GPUs set it in drawn cases"},
      {"trace", "a trace is a file, and an id must say everything"},
      {"routing=trace", "needs the field trace"},
      {"inject.kind=kill", "drawn cases have threads for ranks"},
      {"inject.kind=halt", "as kill"},
      {"inject.kind=vanish", "as kill"},
      {"prompt_verdict", "a machine that does other things beside it keeps no such times"},
  };
  std::map<std::string, std::set<std::string>> drawn;
  for (std::uint64_t number = 0; number < 4 * many_draws; ++number) {  // a word of a rare field is drawn rarely
    for (const auto& [field, setting] : draw_settings(5, number)) {
      ASSERT_TRUE(obeys(*find_field(field), setting.value)) << field << " in draw " << number;
      drawn[field].insert(to_text(setting.value));
    }
  }
  for (const auto& rule : field_rules()) {
    const std::string field(rule.name);
    if (never_drawn.contains(field)) {
      EXPECT_EQ(drawn[field].size(), 0U) << field;
      continue;
    }
    EXPECT_GE(drawn[field].size(), 2U) << field << " is never drawn, or with one value only";
    for (const auto& word : rule.words) {
      const auto setting = field + '=' + std::string(word);
      EXPECT_EQ(drawn[field].contains(std::string(word)), !never_drawn.contains(setting)) << setting;
    }
  }
}

TEST(random_cases, are_a_function_of_seed_and_number) {
  std::set<std::string> ids;
  for (std::uint64_t number = 0; number < 500; ++number) {
    const auto id = draw_case(7, number).id;
    EXPECT_EQ(draw_case(7, number).id, id);
    ids.insert(id);
    ids.insert(draw_case(8, number).id);
  }
  EXPECT_GT(ids.size(), 990U) << "draws repeat each other";
  const auto cases = draw_cases(7, 3);
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[2].id, draw_case(7, 2).id);
}

TEST(random_cases, come_from_their_ids_alone) {
  const auto folder = std::string(SWITCHYARD_TEST_SCENARIOS);
  for (std::uint64_t number = 0; number < 200; ++number) {
    const auto spec = draw_case(11, number);
    case_selection selection;
    selection.case_id = spec.id;
    const auto again = select_cases(suite_catalog(folder), selection);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again.front().id, spec.id);
    EXPECT_EQ(again.front().params, spec.params);
    EXPECT_EQ(again.front().num_tokens, spec.num_tokens);
    EXPECT_EQ(again.front().first_epoch, spec.first_epoch);
    EXPECT_EQ(required_bytes(again.front()), required_bytes(spec));
  }
}

TEST(random_cases, that_are_written_by_hand_are_refused_like_others) {
  case_selection selection;
  const auto choose = [&] { select_cases(suite_catalog(SWITCHYARD_TEST_SCENARIOS), selection); };
  selection.case_id = "random/drawn@ranks=2";
  const std::string place = "case id of random/drawn, which sets nothing by itself (--random N draws cases): ";
  EXPECT_EQ(refusal(choose),
            place +
                "/profile: missing: a scenario has a profile, or num_experts, top_k and hidden_size (case "
                "random/drawn@ranks=2)");
  selection.case_id = "random/drawn@colour=2";
  EXPECT_EQ(refusal(choose), "case id: @colour: 2: unknown field");
  selection.case_id = "random/other@ranks=2";
  EXPECT_EQ(refusal(choose), "suite random has no scenario other");
  selection.case_id.reset();
  selection.suites = {"random"};
  EXPECT_EQ(refusal(choose), place + "/ranks: missing (case random/drawn)");
  EXPECT_EQ(refusal([] { random_settings_of("smoke/gpt_oss@ranks=2,tokens=1"); }),
            "case id smoke/gpt_oss@ranks=2,tokens=1: must be random/drawn@...");
}

TEST(random_cases, meet_the_hard_corners) {
  std::map<std::string, int> met;
  for (std::uint64_t number = 0; number < 2'000; ++number) {
    const auto spec = draw_case(1, number);
    const auto& params = spec.params;
    met["one rank"] += spec.ep_size == 1;
    met["no tokens"] += spec.num_tokens == 0;
    met["one token"] += spec.num_tokens == 1;
    met["capacity"] += spec.num_tokens == params.max_tokens_per_rank && spec.num_tokens > 1;
    met["one less than capacity"] += spec.num_tokens + 1 == params.max_tokens_per_rank && spec.num_tokens > 1;
    met["every expert"] += params.top_k == params.num_experts && params.top_k > 1;
    met["32 slots"] += params.top_k == 32;
    met["as many experts as ranks"] += params.num_experts == spec.ep_size;
    met["odd rows"] += params.hidden_size % 2 == 1;
    met["epoch wraps"] += spec.first_epoch + 2U * static_cast<unsigned>(spec.steps) < spec.first_epoch;
    met["no valid id"] += spec.invalid_percent == 100;
    met["a rank errs"] += spec.inject.has_value();
    met["ranks disagree"] += spec.runtime_max_tokens_from == runtime_max_rule::own_tokens;
    met["all ids alike"] += spec.duplicate_percent == 100;
    met["nobody has tokens"] += spec.empty_ranks == spec.ep_size;
    met["sixteen ranks"] += spec.ep_size == 16;
  }
  ASSERT_EQ(met.size(), 16U);
  for (const auto& [what, times] : met) EXPECT_GE(times, 5) << what;
}

TEST(random_cases, fit_into_limits_as_small_as_they_can_be) {
  random_limits smallest{
      .max_ranks = 1, .max_experts = 1, .max_top_k = 1, .max_hidden = 1, .max_tokens = 1, .max_steps = 1};
  for (std::uint64_t number = 0; number < 100; ++number) {
    const auto spec = draw_case(1, number, smallest);
    EXPECT_EQ(spec.ep_size, 1);
    EXPECT_EQ(spec.steps, 1);
    EXPECT_FALSE(spec.inject);
  }
  random_limits tight;
  tight.max_bytes = std::size_t{1} << 20;
  for (std::uint64_t number = 0; number < 500; ++number) {
    const auto spec = draw_case(1, number, tight);
    EXPECT_LE(required_bytes(spec), tight.max_bytes) << spec.id;
  }
  tight.max_bytes = 1;
  EXPECT_EQ(refusal([&] { draw_case(1, 0, tight); }), "random limits: max_bytes: 1: too small for the smallest case");
}

}  // namespace
}  // namespace switchyard::harness
