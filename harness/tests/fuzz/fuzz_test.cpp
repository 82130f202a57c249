// SPDX-License-Identifier: Apache-2.0
// The fuzzer itself: same number, same text; a parser that does wrong is found out.
#include <gtest/gtest.h>

#include <ctime>
#include <set>
#include <stdexcept>

#include "mutator.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "targets.hpp"

namespace switchyard::harness::fuzz {
namespace {

constexpr std::chrono::seconds patience{1};

target parser_that(std::function<void(const std::string&)> does) {
  return {"planted", "some.json", text_form::plain, {"a"}, {"w"}, std::move(does)};
}

std::string problem_with(std::function<void(const std::string&)> does) {
  const auto result = judge(parser_that(std::move(does)), "text", patience);
  EXPECT_EQ(result.verdict, verdict::wrong);
  return result.problem;
}

TEST(fuzz, a_parser_may_return_or_refuse_with_one_line_that_names_the_file) {
  EXPECT_EQ(judge(parser_that([](const auto&) {}), "text", patience).verdict, verdict::accepted);
  EXPECT_EQ(judge(parser_that([](const auto&) { throw input_error("some.json: no"); }), "text", patience).verdict,
            verdict::refused);
}

TEST(fuzz, anything_else_is_found_out) {
  EXPECT_EQ(problem_with([](const auto&) { throw std::out_of_range("past the end"); }),
            "an exception that is no input_error: past the end");
  EXPECT_EQ(problem_with([](const auto&) { throw 7; }), "an exception of unknown type");
  EXPECT_EQ(problem_with([](const auto&) { throw input_error("no"); }), "the message does not name some.json: no");
  EXPECT_TRUE(problem_with([](const auto&) {
                throw input_error("some.json" + std::string(2000, 'x'));
              }).starts_with("the message has 2009 bytes"));
}

TEST(fuzz, messages_are_one_line_of_text) {
  EXPECT_EQ(message_problem("some.json: no", "some.json"), std::nullopt);
  EXPECT_EQ(message_problem("some.json: a\nb", "some.json"), "the message has the control character 10");
  EXPECT_EQ(message_problem("some.json: \x7F", "some.json"), "the message has the control character 127");
  EXPECT_EQ(message_problem("some.json: \xFF", "some.json"), "the message is not UTF-8");
}

TEST(fuzz, a_slow_parser_is_found_out) {
  const auto slow = parser_that([](const auto&) {
    const auto end = std::clock() + CLOCKS_PER_SEC / 20;
    while (std::clock() < end) continue;
  });
  const auto result = judge(slow, "text", std::chrono::milliseconds(5));
  EXPECT_EQ(result.verdict, verdict::wrong);
  EXPECT_TRUE(result.problem.starts_with("it took "));
}

class fuzz_targets : public testing::TestWithParam<std::string> {};

TEST_P(fuzz_targets, have_seeds_that_are_accepted_and_texts_that_differ_and_repeat) {
  const auto target = make_target(GetParam(), SWITCHYARD_TEST_SCENARIOS);
  EXPECT_GE(target.seeds.size(), 2U);
  for (const auto& seed : target.seeds) EXPECT_NO_THROW(target.parse(seed)) << seed;
  const mutator texts(target.form, target.seeds, target.words);
  std::set<std::string> made;
  int accepted = 0;
  constexpr int count = 300;
  for (std::uint64_t number = 0; number < count; ++number) {
    const auto text = texts.make(9, number);
    EXPECT_EQ(texts.make(9, number), text);
    made.insert(text);
    accepted += judge(target, text, patience).verdict == verdict::accepted;
  }
  EXPECT_GT(made.size(), 250U);
  EXPECT_GT(accepted, count / 50);
  EXPECT_LT(accepted, count - count / 50);
}

INSTANTIATE_TEST_SUITE_P(all, fuzz_targets, testing::ValuesIn(target_names()),
                         [](const auto& one) { return one.param; });

TEST(fuzz, an_unknown_parser_is_refused) {
  EXPECT_THROW(make_target("colour", SWITCHYARD_TEST_SCENARIOS), input_error);
}

}  // namespace
}  // namespace switchyard::harness::fuzz
