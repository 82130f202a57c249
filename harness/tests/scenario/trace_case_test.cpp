// SPDX-License-Identifier: Apache-2.0
// Cases with a trace: what it decides, what must fit it, and the traces that are shipped.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "../run/hand_made_step.hpp"
#include "scenario_text.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {
namespace {

/// A suite file t.json beside a folder of traces with a.jsonl: 3 steps, ranks 0 and 1, 2 of 10 experts.
class trace_case : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "traces");
    std::ofstream(folder_ / "traces" / "a.jsonl")
        << R"({"trace": "a", "num_experts": 10, "top_k": 2, "ranks": 2})"
           "\n"
        << R"({"step": 0, "rank": 0, "topk_ids": [[3, 7], [1, -1]], "topk_weights": [[0.5, 0.25], [1, 0]]})"
           "\n"
        << R"({"step": 2, "rank": 1, "topk_ids": [[9, 9], [0, 4], [5, 6]], "topk_weights": [[1, 1], [2, 3], [0.1, 7]]})"
        << "\n";
    std::ofstream(folder_ / "traces" / "bad.jsonl") << "{}\n";
  }

  std::vector<case_spec> cases(const std::string& more, const std::string& routing = R"("routing": "trace")") {
    const auto text = suite_text(
        R"({"name": "s", "sentence": "x", "num_experts": 10, "top_k": 2, "hidden_size": 24, )" + routing + more + "}");
    return expand(parse_suite(text, (folder_ / "t.json").string()), one_profile());
  }
  std::string refused(const std::string& more, const std::string& routing = R"("routing": "trace")") {
    auto message = refusal([&] { cases(more, routing); });
    const auto prefix = (folder_ / "t.json").string() + ": /scenarios/0/";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  // Each test has its own: they run at the same time.
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("trace_case_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(trace_case, a_trace_decides_tokens_steps_ids_and_weights) {
  const auto spec = cases(R"(, "ranks": 3, "trace": "a")").front();
  EXPECT_EQ(spec.num_tokens, 3);
  EXPECT_EQ(spec.steps, 3);
  EXPECT_EQ(spec.params.max_tokens_per_rank, 3);
  EXPECT_EQ(make_step_plan(spec, 1, 0).num_tokens, (std::vector<std::int64_t>{2, 0, 0}));
  EXPECT_EQ(make_step_plan(spec, 1, 1).num_tokens, (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(make_step_plan(spec, 1, 5).num_tokens, (std::vector<std::int64_t>{0, 3, 0}));
  for (const int step : {2, 5}) {
    const step_generator generator(spec, 1, step);
    std::array<std::int32_t, 2> ids{};
    std::array<float, 2> weights{};
    generator.fill_row(payload_kind::topk_ids, 1, 2, reinterpret_cast<std::byte*>(ids.data()));
    generator.fill_row(payload_kind::topk_weights, 1, 2, reinterpret_cast<std::byte*>(weights.data()));
    EXPECT_EQ(ids, (std::array<std::int32_t, 2>{5, 6}));
    EXPECT_EQ(weights, (std::array<float, 2>{0.1F, 7.0F}));
  }
}

TEST_F(trace_case, is_read_once_and_counted_in_the_need_of_memory) {
  const auto both = cases(R"(, "trace": "a", "sweep": {"kind": "product", "axes": {"ranks": [2, 4]}})");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].trace, both[1].trace);
  auto lighter = both[0];
  lighter.trace = nullptr;
  EXPECT_GE(required_bytes(both[0]) + page_bytes(), required_bytes(lighter) + both[0].trace->bytes());
}

TEST_F(trace_case, passes_with_more_steps_than_the_trace_and_without_weights) {
  for (const auto* more :
       {R"(, "ranks": 2, "trace": "a", "steps": 7)", R"(, "ranks": 3, "trace": "a", "topk_weights": false)"}) {
    const auto spec = cases(more).front();
    arena memory(required_bytes(spec));
    const auto result = run_case(spec, memory, {});
    EXPECT_EQ(result.status, case_status::pass) << result.reason;
  }
}

TEST_F(trace_case, what_does_not_fit_is_refused) {
  const std::string with = R"(, "ranks": 2, "trace": "a")";
  const std::string beside = ": cannot be set beside a trace, which says how many tokens each rank has (case t/s)";
  EXPECT_EQ(refused(R"(, "ranks": 2)"), "trace: missing: routing trace needs one (case t/s)");
  EXPECT_EQ(refused(with, R"("routing": "zipf", "tokens": 3)"),
            "trace: a: needs routing trace, but routing is zipf (case t/s)");
  EXPECT_EQ(refused(with + R"(, "tokens": 3)"), "tokens: 3" + beside);
  EXPECT_EQ(refused(with + R"(, "token_counts": "3")"), "token_counts: 3" + beside);
  EXPECT_EQ(refused(with + R"(, "empty_ranks": 1)"), "empty_ranks: 1" + beside);
  EXPECT_EQ(refused(with + R"(, "variation": "vary")"),
            "variation: vary: must be fixed with a trace: vary draws counts (case t/s)");
  EXPECT_EQ(refused(R"(, "ranks": 1, "trace": "a")"), "ranks: 1: must be at least the ranks of trace a (2) (case t/s)");
  EXPECT_EQ(refused(with + R"(, "runtime_max_tokens": 2)"),
            "trace: a: must be at most runtime_max_tokens (2) (case t/s)");
  EXPECT_EQ(refused(R"(, "ranks": 2, "trace": "../a")"),
            "trace: ../a: must be a text of one or more of a-z, 0-9 and _ (case t/s)");
  EXPECT_EQ(refused(R"(, "ranks": 2, "trace": "none")"),
            "trace: none: there is no file " + (folder_ / "traces" / "none.jsonl").string() + " (case t/s)");
  EXPECT_EQ(refused(R"(, "ranks": 2, "trace": "bad")"),
            (folder_ / "traces" / "bad.jsonl").string() + ": line 1: /step: missing");
  const auto shape = [&](const std::string& fields) {
    const auto text =
        suite_text(R"({"name": "s", "sentence": "x", "ranks": 2, "routing": "trace", "trace": "a", )" + fields + "}");
    const auto message = refusal([&] { expand(parse_suite(text, (folder_ / "t.json").string()), one_profile()); });
    return message.substr(message.find("/scenarios/0/") + 13);
  };
  EXPECT_EQ(shape(R"("num_experts": 10, "top_k": 3, "hidden_size": 8)"),
            "top_k: 3: must have the top_k of trace a (2), not 3 (case t/s)");
  EXPECT_EQ(shape(R"("num_experts": 12, "top_k": 2, "hidden_size": 8)"),
            "num_experts: 12: must have the num_experts of trace a (10), not 12 (case t/s)");
  EXPECT_EQ(shape(R"("profile": "tiny")"),
            "profile: tiny: must have the num_experts of trace a (10), not 6 (case t/s)");
}

TEST_F(trace_case, ranks_may_disagree_by_a_trace) {
  const auto spec =
      cases(R"(, "ranks": 2, "trace": "a", "runtime_max_tokens_from": "own_tokens", "expected_fault": "step_mismatch")")
          .front();
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::pass) << result.reason;
}

case_spec shipped_case(const std::string& id) {
  case_selection selection;
  selection.case_id = id;
  return select_cases(suite_catalog(SWITCHYARD_TEST_SCENARIOS), selection).front();
}

TEST(shipped_traces, b18_reaches_every_expert_and_the_seams) {
  const auto spec = shipped_case("routing/b18_uneven");
  std::set<std::int32_t> experts;
  std::array<std::set<std::int32_t>, 4> owned;
  for (int rank = 0; rank < 4; ++rank) {
    for (std::int64_t token = 0; token < spec.trace->num_tokens(0, rank); ++token) {
      for (const auto id : spec.trace->topk_ids(0, rank, token)) {
        experts.insert(id);
        owned[static_cast<std::size_t>(reference::owner_of(id, 10, 4))].insert(id);
      }
    }
  }
  EXPECT_EQ(experts.size(), 10U);
  EXPECT_EQ(owned[0], (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(owned[1], (std::set<std::int32_t>{3, 4, 5}));
  EXPECT_EQ(owned[2], (std::set<std::int32_t>{6, 7}));
  EXPECT_EQ(owned[3], (std::set<std::int32_t>{8, 9}));
}

TEST(shipped_traces, b20_sums_to_264_wherever_the_256_stands) {
  const auto spec = shipped_case("routing/b20_sum");
  std::pmr::monotonic_buffer_resource memory;
  step_inputs inputs(spec, memory);
  inputs.generate(1, 0);
  for (int rank = 0; rank < 8; ++rank) {
    ASSERT_EQ(inputs.plan().num_tokens[static_cast<std::size_t>(rank)], 8);
    const auto output = hand_made_output(inputs, rank, spec.experts);
    ASSERT_EQ(output.size(), 8U * 256 * 2);
    for (std::size_t at = 0; at < output.size(); at += 2) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, output.data() + at, 2);
      ASSERT_EQ(bits, 0x4384) << "rank " << rank << " byte " << at;  // 264 = 1.00001B * 2^8
    }
  }
}

TEST(shipped_traces, bug_scenarios_pass) {
  for (const auto* id : {"routing/b03_mixed_slots", "routing/b04_same_expert@values=nan_rows", "routing/b18_uneven",
                         "routing/b20_sum"}) {
    const auto spec = shipped_case(id);
    arena memory(required_bytes(spec));
    const auto result = run_case(spec, memory, {});
    EXPECT_EQ(result.status, case_status::pass) << id << ": " << result.reason;
  }
}

}  // namespace
}  // namespace switchyard::harness
