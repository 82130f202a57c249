// SPDX-License-Identifier: Apache-2.0
// Shrinking with made-up failures, whose smallest case is known.
#include "switchyard/harness/shrink.hpp"

#include "scenario_text.hpp"
#include "switchyard/harness/random_cases.hpp"

namespace switchyard::harness {
namespace {

field_settings settings_from(std::initializer_list<std::pair<std::string, field_value>> values) {
  field_settings settings;
  for (const auto& [field, value] : values) settings.emplace(field, field_setting{value, {"test", field}});
  return settings;
}

field_settings large_case() {
  return settings_from({{"ranks", std::int64_t{7}},
                        {"num_experts", std::int64_t{20}},
                        {"top_k", std::int64_t{9}},
                        {"hidden_size", std::int64_t{320}},
                        {"tokens", std::int64_t{33}},
                        {"runtime_max_tokens", std::int64_t{40}},
                        {"max_tokens_per_rank", std::int64_t{41}},
                        {"steps", std::int64_t{12}},
                        {"dtype", std::string("fp32")},
                        {"dispatch_format", std::string("mxfp4")},
                        {"blocks", std::int64_t{5}},
                        {"topk_weights", false},
                        {"variation", std::string("vary")},
                        {"late_us", std::int64_t{700}}});
}

std::string id_of(const shrunk_case& result) { return result.spec.id; }

TEST(shrink, finds_the_smallest_case_of_a_rule_over_two_fields) {
  const auto result =
      shrink(large_case(), [](const case_spec& spec) { return spec.ep_size >= 3 && spec.params.top_k >= 2; });
  EXPECT_EQ(id_of(result), "random/drawn@hidden_size=1,num_experts=3,ranks=3,steps=1,tokens=0,top_k=2");
  EXPECT_EQ(result.failed_attempts, result.attempts);
  EXPECT_LT(result.runs, 60U);
}

TEST(shrink, lowers_what_is_tied_together) {
  const auto result = shrink(large_case(), [](const case_spec& spec) {
    return spec.num_tokens >= 5 && spec.params.max_tokens_per_rank == spec.num_tokens + 8;
  });
  EXPECT_EQ(id_of(result),
            "random/drawn@hidden_size=1,max_tokens_per_rank=13,num_experts=1,ranks=1,steps=1,tokens=5,top_k=1");
}

TEST(shrink, keeps_words_and_flags_that_matter_and_drops_the_others) {
  const auto result = shrink(large_case(), [](const case_spec& spec) {
    return spec.params.dtype != dtype::bf16 && !spec.topk_weights && spec.steps > 1;
  });
  EXPECT_EQ(id_of(result),
            "random/drawn@dtype=fp16,hidden_size=1,num_experts=1,ranks=1,steps=2,tokens=0,top_k=1,topk_weights=false");
}

TEST(shrink, keeps_an_injected_fault_whole_or_drops_it_whole) {
  auto settings = large_case();
  settings.merge(settings_from({{"inject.kind", std::string("stop")},
                                {"inject.rank", std::int64_t{5}},
                                {"inject.step", std::int64_t{4}},
                                {"inject.phase", std::string("combine")},
                                {"expected_fault", std::string("timeout")}}));
  EXPECT_EQ(id_of(shrink(settings, [](const case_spec& spec) { return spec.inject.has_value(); })),
            "random/drawn@expected_fault=timeout,hidden_size=1,inject.kind=stop,inject.rank=0,num_experts=2,ranks=2,"
            "steps=1,tokens=0,top_k=1");
  EXPECT_EQ(id_of(shrink(settings, [](const case_spec& spec) { return spec.params.hidden_size > 99; })),
            "random/drawn@hidden_size=100,num_experts=1,ranks=1,steps=1,tokens=0,top_k=1");
}

TEST(shrink, makes_counts_simple_and_takes_ranks_out_of_them) {
  auto settings = large_case();
  for (const auto* field : {"tokens", "runtime_max_tokens", "max_tokens_per_rank", "variation"}) settings.erase(field);
  settings.merge(settings_from({{"token_counts", std::string("3:9:0:4:17:1:8/5/0:0:0:2:0:33:0")},
                                {"padding_rows", std::string("1/2:0:1:3:4:1:1")},
                                {"late_rank", std::int64_t{5}}}));
  // Some step has a rank with at least 2 tokens beside one with none.
  const auto uneven = [](const case_spec& spec) {
    for (std::size_t step = 0; spec.token_counts && step < spec.token_counts->steps(); ++step) {
      std::int64_t least = 1;
      std::int64_t most = 0;
      for (int rank = 0; rank < spec.ep_size; ++rank) {
        const auto count = spec.token_counts->at(static_cast<int>(step), rank);
        least = std::min(least, count);
        most = std::max(most, count);
      }
      if (least == 0 && most >= 2) return true;
    }
    return false;
  };
  EXPECT_EQ(id_of(shrink(settings, uneven)),
            "random/drawn@hidden_size=1,num_experts=2,ranks=2,steps=1,token_counts=2:0,top_k=1");
  EXPECT_EQ(id_of(shrink(settings, [](const case_spec& spec) { return spec.num_tokens > 3; })),
            "random/drawn@hidden_size=1,num_experts=1,ranks=1,steps=1,tokens=4,top_k=1");
  EXPECT_EQ(id_of(shrink(settings, [](const case_spec& spec) { return spec.late.rank.value_or(0) >= 1; })),
            "random/drawn@hidden_size=1,late_rank=1,late_us=0,num_experts=2,ranks=2,steps=1,tokens=0,top_k=1");
}

TEST(shrink, says_when_the_failure_does_not_come_back) {
  int runs = 0;
  const auto result = shrink(large_case(), [&](const case_spec&) { return ++runs < 0; });
  EXPECT_EQ(result.failed_attempts, 0);
  EXPECT_EQ(result.attempts, 3);
  EXPECT_EQ(result.runs, 3U);
  EXPECT_EQ(id_of(result), random_case_of(large_case()).id) << "nothing was shrunk";
}

TEST(shrink, runs_candidates_several_times_when_the_failure_comes_and_goes) {
  int runs = 0;
  const auto every_other = [&](const case_spec& spec) { return ++runs % 2 == 0 && spec.ep_size >= 2; };
  const auto result = shrink(large_case(), every_other);
  EXPECT_LT(result.failed_attempts, result.attempts);
  EXPECT_EQ(id_of(result), "random/drawn@hidden_size=1,num_experts=2,ranks=2,steps=1,tokens=0,top_k=1");
}

TEST(shrink, stops_after_so_many_runs_or_when_asked) {
  int runs = 0;
  const auto always = [&](const case_spec&) { return ++runs > 0; };
  auto result = shrink(large_case(), always, {.max_runs = 7});
  EXPECT_EQ(runs, 7);
  EXPECT_EQ(result.runs, 7U);
  EXPECT_NO_THROW(random_case_of(result.settings));
  runs = 0;
  result = shrink(large_case(), always, {.stop_requested = [&] { return runs >= 4; }});
  EXPECT_EQ(runs, 4);
}

TEST(shrink, of_drawn_cases_ends_at_the_smallest_case_there_is) {
  for (std::uint64_t number = 0; number < 100; ++number) {
    const auto result = shrink(draw_settings(2, number), [](const case_spec&) { return true; });
    EXPECT_EQ(id_of(result), "random/drawn@hidden_size=1,num_experts=1,ranks=1,steps=1,tokens=0,top_k=1") << number;
  }
}

TEST(shrink, writes_a_scenario_file_that_reads_back_as_the_same_case) {
  for (std::uint64_t number = 0; number < 400; ++number) {
    const auto settings = draw_settings(4, number);
    const auto text = scenario_file_text(settings, "small_one", "It says \"why\".");
    const auto suite = parse_suite(text, "folder/small_one.json");
    ASSERT_EQ(suite.scenarios.size(), 1U);
    const auto& fields = suite.scenarios.front().fields;
    ASSERT_EQ(fields.size(), settings.size()) << text;
    for (const auto& [field, setting] : settings) EXPECT_EQ(fields.at(field).value, setting.value) << field;
    const auto cases = expand(suite, {});
    ASSERT_EQ(cases.size(), 1U);
    EXPECT_EQ(required_bytes(cases.front()), required_bytes(random_case_of(settings)));
  }
}

TEST(shrink, tells_failures_apart_by_kind) {
  case_result result;
  EXPECT_EQ(failure_kind(result), "");
  result.status = case_status::fail;
  EXPECT_EQ(failure_kind(result), "fail");
  result.findings.push_back({.verdict = verdict::stale});
  result.findings.push_back({.verdict = verdict::loss});
  EXPECT_EQ(failure_kind(result), "fail stale");
  result.faults.push_back({1, fault_record{}, ""});
  result.faults.back().record.code = fault_code::bad_header;
  EXPECT_EQ(failure_kind(result), "fail stale bad_header");
}

}  // namespace
}  // namespace switchyard::harness
