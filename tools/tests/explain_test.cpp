// SPDX-License-Identifier: Apache-2.0
// Every word that the output can contain is explained, and what is unknown finds its neighbours.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "explain_options.hpp"
#include "explanations.hpp"
#include "run_output.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/gate/verdict.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::tools {
namespace {

/// The words of an enumeration, from its own to_string(): a new enumerator is here without anyone's doing.
template <class Enum>
std::set<std::string_view> words() {
  std::set<std::string_view> all;
  for (unsigned value = 0; value < 256; ++value) {
    const auto word = to_string(static_cast<Enum>(value));
    if (word == "unknown") break;
    all.insert(word);
  }
  return all;
}

template <class Enum>
void expect_explained(const std::string& kind, std::size_t at_least) {
  const auto due = words<Enum>();
  EXPECT_GE(due.size(), at_least) << kind;  // the enumeration itself works
  std::set<std::string_view> explained;
  for (const auto& one : all_explanations()) {
    if (one.kind != kind) continue;
    EXPECT_TRUE(explained.insert(one.word).second) << one.word << " is explained twice";
    EXPECT_GT(one.meaning.size(), 20U) << one.word;
    EXPECT_GT(one.next.size(), 10U) << one.word;
  }
  EXPECT_EQ(explained, due) << kind;
}

TEST(explain, every_word_of_the_output) {
  expect_explained<fault_code>("fault code", 7);
  expect_explained<phase>("phase", 2);
  expect_explained<awaited>("what a wait was for", 4);
  expect_explained<step_field>("mismatch field", 16);
  expect_explained<harness::verdict>("verdict", 10);
  expect_explained<harness::case_status>("case status", 8);
  expect_explained<harness::exit_code>("exit code", 7);
  expect_explained<harness::gate::gate_verdict>("gate verdict", 6);
  expect_explained<harness::gate::floor_source>("floor of the gate", 3);
}

TEST(explain, what_is_wrong_has_causes) {
  for (const auto& one : all_explanations()) {
    const bool of_a_fault =
        one.kind == "fault code" || one.kind == "mismatch field" || one.kind == "what a wait was for";
    const bool wrong = one.kind == "verdict" || (of_a_fault && one.word != "none" && one.word != "nothing");
    EXPECT_TRUE(!wrong || one.causes.size() > 10) << one.kind << ' ' << one.word;
  }
}

TEST(explain, a_word_of_several_kinds_and_a_number) {
  const auto timeouts = explanations_of("timeout");
  ASSERT_EQ(timeouts.size(), 2U);
  EXPECT_EQ(timeouts[0].kind, "fault code");
  EXPECT_EQ(timeouts[1].kind, "case status");
  for (int number = 0; number <= 6; ++number) {
    const auto found = explanations_of(std::to_string(number));
    ASSERT_EQ(found.size(), 1U) << number;
    EXPECT_EQ(found[0].kind, "exit code");
    EXPECT_EQ(found[0].meaning.substr(0, 3), std::to_string(number) + ": ");
  }
  EXPECT_TRUE(explanations_of("7").empty());
  EXPECT_TRUE(explanations_of("unknown").empty());
  EXPECT_TRUE(explanations_of("").empty());
}

TEST(explain, an_unknown_word_finds_its_neighbours) {
  EXPECT_EQ(words_by_distance("los").front(), "loss");
  EXPECT_EQ(words_by_distance("step-mismatch").front(), "step_mismatch");
  EXPECT_EQ(words_by_distance("wrongcount").front(), "wrong_count");
  try {
    explain_word("los");
    FAIL() << "nothing was refused";
  } catch (const harness::input_error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("explain: los: unknown; known are, the nearest first: loss, ", 0), 0U)
        << error.what();
  }
}

TEST(explain, lines_are_broken_between_words) {
  EXPECT_EQ(wrapped("", 2), "");
  EXPECT_EQ(wrapped("a b", 2), "a b");
  const std::string ten = "123456789";
  std::string text = ten;
  for (int i = 0; i < 20; ++i) text += ' ' + ten;
  const auto lines = wrapped(text, 4);
  EXPECT_EQ(lines.find('\n'), 4 + 9 * 10 - 5U);
  EXPECT_EQ(lines.substr(lines.find('\n') + 1, 5), "    1");
}

class explain_case_output : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("explain_case_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "profiles.json") << R"({"description": "d", "profiles": {"tiny": {"hidden_size": 64,
        "top_k": 2, "num_experts": 6, "dtype": "bf16", "dispatch_format": "bf16"}}})";
    std::ofstream(folder_ / "one.json") << R"({"suite": "one", "description": "d", "scenarios": [{"name": "s",
        "sentence": "What it is about.", "tags": ["quick"], "profile": "tiny", "ranks": 3, "tokens": 4,
        "timeout_ms": 300, "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 2, "step": 1},
        "sweep": {"kind": "product", "axes": {"inject.phase": ["dispatch", "combine"]}}}]})";
  }
  /// Name, value and origin of each field, as printed.
  std::string explained(const std::string& id) {
    explain_options options;
    options.what = id;
    options.common.scenarios = folder_;
    options.seed = 5;
    options.call.program = "switchyard";
    testing::internal::CaptureStdout();
    try {
      explain_case(options);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }

  std::filesystem::path folder_;
};

TEST_F(explain_case_output, has_every_field_with_its_value_and_origin) {
  const auto text = explained("one/s@inject.phase=combine,steps=7");
  EXPECT_NE(text.find("one/s@inject.phase=combine,steps=7\n  What it is about.\n"), std::string::npos) << text;
  const auto line = [&text](const std::string& field) {
    const auto at = text.find("\n  " + field + ' ');
    if (at == std::string::npos) return std::string("none");
    std::string words;
    for (const char letter : text.substr(at + 3, text.find('\n', at + 1) - at - 3)) {
      if (letter != ' ' || (!words.empty() && words.back() != ' ')) words += letter;
    }
    return words;
  };
  EXPECT_EQ(line("inject.phase"), "inject.phase combine swept");
  EXPECT_EQ(line("inject.rank"), "inject.rank 2 set");
  EXPECT_EQ(line("steps"), "steps 7 set in the id");
  EXPECT_EQ(line("hidden_size"), "hidden_size 64 profile");
  EXPECT_EQ(line("profile"), "profile tiny set");
  EXPECT_EQ(line("blocks"), "blocks 1 default");
  EXPECT_EQ(line("runtime_max_tokens"), "runtime_max_tokens - default");
  EXPECT_EQ(line("timeout_ms"), "timeout_ms 300 set");
  // A field that is neither here nor in spec_json() would show no value, and would be missing in records.
  const std::set<std::string_view> need_not_apply{
      "late_rank", "masked_from", "rejoin_step", "runtime_max_tokens", "token_counts", "trace", "warmup_timeout_ms"};
  for (const auto& rule : harness::field_rules()) {
    EXPECT_NE(line(std::string(rule.name)), "none") << rule.name;
    const bool may_not_apply = need_not_apply.contains(rule.name);
    EXPECT_EQ(line(std::string(rule.name)).find(" - ") != std::string::npos, may_not_apply) << rule.name;
  }
  EXPECT_NE(text.find(" of payload rows to other ranks with seed 5, and "), std::string::npos);
  EXPECT_NE(text.find("run it: switchyard run --scenarios " + folder_.string() +
                      " --case one/s@inject.phase=combine,steps=7 --seed 5\n"),
            std::string::npos)
      << text;
}

TEST_F(explain_case_output, refuses_what_is_no_case) {
  EXPECT_THROW(explained("one/s"), harness::input_error);
  EXPECT_THROW(explained("one/t@steps=1"), harness::input_error);
  EXPECT_THROW(explained("none/s"), harness::input_error);
}

TEST(resume_command, is_the_call_without_the_places_of_records) {
  const std::vector<std::string> arguments{"run", "a b", "--out", "x", "--seed", "3", "--resume=old.jsonl"};
  EXPECT_EQ(resume_command({"./switchyard", arguments}, "x/r.jsonl"),
            "./switchyard run 'a b' --seed 3 --resume x/r.jsonl");
}

}  // namespace
}  // namespace switchyard::tools
