// SPDX-License-Identifier: Apache-2.0
// Every rule about routing, counts, strides and values is broken once.
#include "bad_input.hpp"

namespace switchyard::harness {
namespace {

const std::string at = "t.json: /scenarios/0/";

std::string routed(const std::string& more) { return suite_text(scenario_text(more)); }

std::string counted(const std::string& more) {
  return suite_text(R"({"name": "s", "sentence": "x", "ranks": 4, "profile": "tiny")" + more + "}");
}

TEST(bad_routing, values_of_fields) {
  expect_refusals({
      {routed(R"(, "routing": "hot")"),
       at + R"(routing: "hot": must be one of uniform, balanced, zipf, hot_rank, hot_expert)"},
      {routed(R"(, "zipf_exponent_percent": 1001)"),
       at + "zipf_exponent_percent: 1001: must be an integer from 0 to 1000"},
      {routed(R"(, "hot_percent": 101)"), at + "hot_percent: 101: must be an integer from 0 to 100"},
      {routed(R"(, "hot_rank": 256)"), at + "hot_rank: 256: must be an integer from 0 to 255"},
      {routed(R"(, "hot_expert": -1)"), at + "hot_expert: -1: must be an integer from 0 to 1048575"},
      {routed(R"(, "expert_groups": 0)"), at + "expert_groups: 0: must be an integer from 1 to 256"},
      {routed(R"(, "groups_per_token": 257)"), at + "groups_per_token: 257: must be an integer from 1 to 256"},
      {routed(R"(, "duplicate_percent": 101)"), at + "duplicate_percent: 101: must be an integer from 0 to 100"},
      {routed(R"(, "empty_ranks": 256)"), at + "empty_ranks: 256: must be an integer from 0 to 255"},
      {routed(R"(, "late_rank": -1)"), at + "late_rank: -1: must be an integer from 0 to 255"},
      {routed(R"(, "values": "zeros")"), at + R"(values: "zeros": must be one of random, ones, nan_rows, bits)"},
      {routed(R"(, "experts": "one")"), at + R"(experts: "one": must be one of scaled, identity)"},
      {routed(R"(, "runtime_max_tokens_from": "max")"),
       at + R"(runtime_max_tokens_from: "max": must be one of tokens, capacity, drawn, own_tokens)"},
      {routed(R"(, "padding_rows": 3)"), at + R"(padding_rows: 3: must be counts such as "32" or "0:32:32/8": steps)"},
      {counted(R"(, "token_counts": "08")"), at + R"(token_counts: "08": must be counts such as )"},
      {counted(R"(, "token_counts": "")"), at + R"(token_counts: "": must be counts such as )"},
  });
}

TEST(bad_routing, laws_that_do_not_fit_the_case) {
  expect_refusals({
      {routed(R"(, "routing": "hot_rank", "hot_rank": 4)"), at + "hot_rank: 4: must be below ranks (4) (case t/s)"},
      {routed(R"(, "routing": "hot_expert", "hot_expert": 10)"),
       at + "hot_expert: 10: must be below num_experts (10) (case t/s)"},
      {routed(R"(, "routing": "grouped", "expert_groups": 11)"),
       at + "expert_groups: 11: must be at most num_experts (10) (case t/s)"},
      {routed(R"(, "routing": "grouped", "expert_groups": 3)"),
       at + "groups_per_token: must be at most expert_groups (3) (case t/s)"},
      // Groups of 3, 3, 2 and 2 experts: the smallest two have 4, the smallest three 7.
      {routed(R"(, "routing": "grouped", "expert_groups": 4, "groups_per_token": 1)"),
       at + "groups_per_token: 1: must be groups with at least top_k (4) experts; the smallest 1 of 4 groups have 2 "
            "(case t/s)"},
      {routed(R"(, "hot_percent": 5)"),
       at + "hot_percent: 5: belongs to routing hot_rank or hot_expert, but routing is uniform (case t/s)"},
      {routed(R"(, "routing": "hot_rank", "zipf_exponent_percent": 5)"),
       at + "zipf_exponent_percent: 5: belongs to routing zipf, but routing is hot_rank (case t/s)"},
      {routed(R"(, "routing": "zipf", "hot_rank": 1)"), at + "hot_rank: 1: belongs to routing hot_rank, but"},
      {routed(R"(, "routing": "zipf", "hot_expert": 1)"), at + "hot_expert: 1: belongs to routing hot_expert, but"},
      {routed(R"(, "expert_groups": 2)"), at + "expert_groups: 2: belongs to routing grouped, but"},
      {routed(R"(, "groups_per_token": 2)"), at + "groups_per_token: 2: belongs to routing grouped, but"},
  });
}

TEST(bad_routing, the_smallest_groups_that_hold_a_token_are_fine) {
  EXPECT_EQ(cases_of_text(scenario_text(R"(, "routing": "grouped", "expert_groups": 4, "groups_per_token": 2)")).size(),
            1U);
  const auto message = refusal([] {
    cases_of_text(R"({"name": "s", "sentence": "x", "ranks": 2, "tokens": 8, "num_experts": 10, "top_k": 8,
                      "hidden_size": 64, "routing": "grouped", "expert_groups": 4, "groups_per_token": 3})");
  });
  EXPECT_NE(message.find("the smallest 3 of 4 groups have 7"), std::string::npos) << message;
}

TEST(bad_routing, counts_that_do_not_fit_the_case) {
  expect_refusals({
      {counted(""), at + "tokens: missing: a scenario has tokens, token_counts or a trace (case t/s)"},
      {counted(R"(, "tokens": 3, "token_counts": "3")"),
       at + "tokens: 3: cannot be set beside token_counts, which replaces it (case t/s)"},
      {counted(R"(, "token_counts": "1:2:3")"),
       at + "token_counts: 1:2:3: must have one count or 4 counts in each step: one for each rank (case t/s)"},
      {counted(R"(, "token_counts": "8/1:2:3:4:5")"),
       at + "token_counts: 8/1:2:3:4:5: must have one count or 4 counts"},
      {counted(R"(, "token_counts": "3", "padding_rows": "1:2")"),
       at + "padding_rows: 1:2: must have one count or 4 counts in each step"},
      {counted(R"(, "token_counts": "3", "variation": "vary")"),
       at + "token_counts: 3: cannot go with variation vary, which draws the counts (case t/s)"},
      {counted(R"(, "token_counts": "3/9", "runtime_max_tokens": 8)"),
       at + "token_counts: 3/9: must be at most runtime_max_tokens (8) (case t/s)"},
  });
}

TEST(bad_routing, strides_that_contradict) {
  const std::string own = R"(, "runtime_max_tokens_from": "own_tokens")";
  const std::string fault = R"(, "expected_fault": "step_mismatch")";
  expect_refusals({
      {routed(R"(, "runtime_max_tokens": 8, "runtime_max_tokens_from": "drawn")"),
       at + "runtime_max_tokens_from: drawn: cannot be set beside runtime_max_tokens: one of them says what T is"},
      {routed(R"(, "runtime_max_tokens_from": "capacity", "variation": "vary")"),
       at + "runtime_max_tokens_from: capacity: cannot go with variation vary, which draws T (case t/s)"},
      {counted(R"(, "token_counts": "5:17:3:32")" + own),
       at + "expected_fault: must be step_mismatch where every rank passes its own tokens as runtime_max_tokens"},
      {counted(R"(, "token_counts": "5:17:3:32", "expected_fault": "timeout")" + own),
       at + "expected_fault: timeout: must be step_mismatch where"},
      {counted(R"(, "token_counts": "5:17:3:32", "inject": {"kind": "stop", "rank": 1})" + own + fault),
       at + "runtime_max_tokens_from: own_tokens: cannot go with inject: one fault a case (case t/s)"},
      {routed(own + fault),
       at + "runtime_max_tokens_from: own_tokens: needs token_counts, empty_ranks or a trace by which ranks "
            "surely disagree: equal counts make no fault (case t/s)"},
      {counted(R"(, "steps": 2, "token_counts": "4/4/2:4:4:4")" + own + fault),
       at + "runtime_max_tokens_from: own_tokens: needs token_counts, empty_ranks or a trace by which"},
      {routed(R"(, "empty_ranks": 4)" + own + fault),
       at + "runtime_max_tokens_from: own_tokens: needs token_counts, empty_ranks or a trace by which"},
      {counted(R"(, "tokens": 1, "empty_ranks": 1)" + own + fault),
       at + "runtime_max_tokens_from: own_tokens: needs token_counts, empty_ranks or a trace by which"},
      {counted(R"(, "token_counts": "5/0:1:1:0")" + own + fault),
       at + "runtime_max_tokens_from: own_tokens: needs token_counts, empty_ranks or a trace by which"},
  });
}

TEST(bad_routing, values_and_lateness_that_do_not_fit_the_case) {
  expect_refusals({
      {counted(R"(, "tokens": 3, "values": "nan_rows")"),
       at + "values: nan_rows: needs hidden states of bf16, fp16 or fp32: not every format with scales has NaNs"},
      {routed(R"(, "late_rank": 1)"), at + "late_us: missing: late_rank says who sleeps, late_us how long at most"},
      {routed(R"(, "late_us": 5, "late_rank": 4)"), at + "late_rank: 4: must be below ranks (4) (case t/s)"},
  });
}

}  // namespace
}  // namespace switchyard::harness
