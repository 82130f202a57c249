// SPDX-License-Identifier: Apache-2.0
// Traces: what they say, and every rule of their lines broken once.
#include "switchyard/harness/routing_trace.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "scenario_text.hpp"

namespace switchyard::harness {
namespace {

using id_row = std::vector<std::int32_t>;

id_row ids_of(const routing_trace& trace, int step, int rank, std::int64_t token) {
  const auto ids = trace.topk_ids(step, rank, token);
  return {ids.begin(), ids.end()};
}

constexpr const char* header = R"({"trace": "t", "description": "d", "synthetic": true, "generator": "by hand",)"
                               R"( "seed": 7, "num_experts": 10, "top_k": 2, "ranks": 4})";

TEST(routing_trace, lines_in_any_order_make_steps_and_ranks) {
  const auto trace =
      routing_trace::parse(std::string(header) + "\n" +
                               R"({"step": 2, "rank": 1, "topk_ids": [[3, 7], [1, -1]],)"
                               R"( "topk_weights": [[0.5, 2], [1, -0.25]]})"
                               "\n"
                               R"({"rank": 0, "step": 0, "topk_ids": [], "topk_weights": []})"
                               "\n"
                               R"({"step": 0, "rank": 2, "topk_ids": [[9, 9]], "topk_weights": [[0, 1e-3]]})"
                               "\n",
                           "folder/t.jsonl");
  EXPECT_EQ(trace.about().name, "t");
  EXPECT_EQ(trace.about().description, "d");
  EXPECT_EQ(trace.about().generator, "by hand");
  EXPECT_TRUE(trace.about().synthetic);
  EXPECT_EQ(trace.about().seed, 7);
  EXPECT_EQ(trace.about().num_experts, 10);
  EXPECT_EQ(trace.about().top_k, 2);
  EXPECT_EQ(trace.about().ranks, 4);
  EXPECT_EQ(trace.about().steps, 3);
  EXPECT_EQ(trace.num_tokens(2, 1), 2);
  EXPECT_EQ(trace.num_tokens(0, 0), 0);
  EXPECT_EQ(trace.num_tokens(0, 2), 1);
  EXPECT_EQ(trace.num_tokens(1, 1), 0);  // no line
  EXPECT_EQ(trace.num_tokens(5, 1), 2);  // round again
  EXPECT_EQ(trace.num_tokens(2, 200), 0);
  EXPECT_EQ(trace.largest_num_tokens(), 2);
  EXPECT_EQ(ids_of(trace, 2, 1, 0), (id_row{3, 7}));
  EXPECT_EQ(ids_of(trace, 5, 1, 1), (id_row{1, -1}));
  EXPECT_EQ(ids_of(trace, 0, 2, 0), (id_row{9, 9}));
  ASSERT_TRUE(trace.has_weights());
  EXPECT_EQ(trace.topk_weights(2, 1, 1)[1], -0.25F);
  EXPECT_EQ(trace.topk_weights(0, 2, 0)[1], 1e-3F);
  EXPECT_GE(trace.bytes(), 6 * 4 + 6 * 4U);
}

TEST(routing_trace, the_first_line_may_be_missing_and_so_may_weights_and_the_last_newline) {
  const auto trace =
      routing_trace::parse(R"({"step": 0, "rank": 3, "topk_ids": [[2147483647, -2147483648, 0]]})", "x.jsonl");
  EXPECT_EQ(trace.about().name, "x");
  EXPECT_EQ(trace.about().top_k, 3);
  EXPECT_EQ(trace.about().ranks, 4);
  EXPECT_EQ(trace.about().steps, 1);
  EXPECT_FALSE(trace.has_weights());
  EXPECT_EQ(ids_of(trace, 0, 3, 0),
            (id_row{std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 0}));
}

struct bad_trace {
  std::string text;
  std::string message;
};

void expect_refusals(const std::vector<bad_trace>& traces) {
  for (const auto& trace : traces) {
    const auto message = refusal([&] { routing_trace::parse(trace.text, "t.jsonl"); });
    EXPECT_EQ(message.substr(0, trace.message.size()), trace.message) << trace.text << "\n  full message: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

const std::string good = R"({"step": 0, "rank": 0, "topk_ids": [[1, 2]]})"
                         "\n";
const std::string weighted = R"({"step": 0, "rank": 0, "topk_ids": [[1, 2]], "topk_weights": [[1, 0]]})"
                             "\n";

TEST(routing_trace, text_that_is_no_trace) {
  expect_refusals({
      {"", "t.jsonl: must have at least one row"},
      {std::string(header), "t.jsonl: must have at least one row"},
      {R"({"step": 0, "rank": 0, "topk_ids": []})", "t.jsonl: must have at least one row"},
      {good + "\n", "t.jsonl: line 2: empty line"},
      {good + "{", "t.jsonl: line 2: column 2: not JSON: "},
      {good + "{\"\xff\"}", "t.jsonl: line 2: column 3: not UTF-8"},
      {good + "[]", "t.jsonl: line 2: []: must be an object"},
      {good + R"({"step": 1, "step": 2})", "t.jsonl: line 2: /step: duplicate key"},
      {std::string((std::size_t{4} << 20) + 1, ' '), "t.jsonl: line 1: 4194305 bytes: must be at most 4194304"},
  });
}

TEST(routing_trace, first_lines) {
  const auto with = [](const std::string& more) { return R"({"trace": "t", )" + more + "}\n" + good; };
  expect_refusals({
      {R"({"trace": "u"})", R"(t.jsonl: line 1: /trace: "u": must be the file's name without .jsonl: t)"},
      {R"({"trace": 3})", "t.jsonl: line 1: /trace: 3: must be a text of one or more of a-z, 0-9 and _"},
      {with(R"("model": "m")"), R"(t.jsonl: line 1: /model: "m": unknown field)"},
      {with(R"("synthetic": 1)"), "t.jsonl: line 1: /synthetic: 1: must be true or false"},
      {with(R"("description": "")"), R"(t.jsonl: line 1: /description: "": must be a text that is not empty)"},
      {with(R"("seed": -1)"), "t.jsonl: line 1: /seed: -1: must be an integer from 0"},
      {with(R"("top_k": 33)"), "t.jsonl: line 1: /top_k: 33: must be an integer from 1 to 32"},
      {with(R"("top_k": 3)"), "t.jsonl: line 2: /topk_ids/0: [1,2]: must have 3 slots, as every row of the trace"},
      {with(R"("ranks": 257)"), "t.jsonl: line 1: /ranks: 257: must be an integer from 1 to 256"},
      {with(R"("ranks": 2)") + R"({"step": 0, "rank": 2, "topk_ids": []})",
       "t.jsonl: line 3: /rank: 2: must be an integer from 0 to 1"},
      {with(R"("num_experts": 0)"), "t.jsonl: line 1: /num_experts: 0: must be an integer from 1 to 1048576"},
      {good + header, R"(t.jsonl: line 2: /description: "d": unknown field)"},
  });
}

TEST(routing_trace, rows_and_their_numbers) {
  const auto row = [](const std::string& ids) { return R"({"step": 0, "rank": 0, "topk_ids": )" + ids + "}"; };
  const auto weights = [](const std::string& values) {
    return R"({"step": 0, "rank": 0, "topk_ids": [[1, 2]], "topk_weights": )" + values + "}";
  };
  std::string wide = "[[0";
  for (int slot = 1; slot < 33; ++slot) wide += ",0";
  expect_refusals({
      {good + good, "t.jsonl: line 2: step 0 of rank 0 is there twice"},
      {R"({"rank": 0, "topk_ids": [[1]]})", "t.jsonl: line 1: /step: missing"},
      {R"({"step": 0, "topk_ids": [[1]]})", "t.jsonl: line 1: /rank: missing"},
      {R"({"step": 0, "rank": 0})", "t.jsonl: line 1: /topk_ids: missing"},
      {R"({"step": 1048576, "rank": 0, "topk_ids": [[1]]})",
       "t.jsonl: line 1: /step: 1048576: must be an integer from 0 to 1048575"},
      {R"({"step": 0.5, "rank": 0, "topk_ids": [[1]]})", "t.jsonl: line 1: /step: 0.5: must be an integer"},
      {R"({"step": 0, "rank": 256, "topk_ids": [[1]]})",
       "t.jsonl: line 1: /rank: 256: must be an integer from 0 to 255"},
      {R"({"step": 0, "rank": 0, "topk_ids": [[1]], "layer": 3})", "t.jsonl: line 1: /layer: 3: unknown field"},
      {row("3"), "t.jsonl: line 1: /topk_ids: 3: must be an array"},
      {row("[3]"), "t.jsonl: line 1: /topk_ids/0: 3: must be an array"},
      {row("[[]]"), "t.jsonl: line 1: /topk_ids/0: []: must have 1 to 32 slots"},
      {row(wide + "]]"), "t.jsonl: line 1: /topk_ids/0: [0,0,0"},
      {row("[[1, 2], [3]]"), "t.jsonl: line 1: /topk_ids/1: [3]: must have 2 slots, as every row of the trace"},
      {row("[[1, 2147483648]]"), "t.jsonl: line 1: /topk_ids/0/1: 2147483648: must be an integer from -2147483648"},
      {row("[[-2147483649]]"), "t.jsonl: line 1: /topk_ids/0/0: -2147483649: must be an integer"},
      {row("[[18446744073709551615]]"), "t.jsonl: line 1: /topk_ids/0/0: 18446744073709551615: must be an integer"},
      {row("[[1.0]]"), "t.jsonl: line 1: /topk_ids/0/0: 1.0: must be an integer"},
      {row(R"([["1"]])"), R"(t.jsonl: line 1: /topk_ids/0/0: "1": must be an integer)"},
      {weights("[]"), "t.jsonl: line 1: /topk_weights: []: must have as many rows as topk_ids, 1"},
      {weights("[[1]]"), "t.jsonl: line 1: /topk_weights/0: [1]: must have 2 slots, as every row of the trace"},
      {weights("[[1, null]]"), "t.jsonl: line 1: /topk_weights/0/1: null: must be a number that is finite in fp32"},
      {weights("[[1, 3.5e38]]"),
       "t.jsonl: line 1: /topk_weights/0/1: 3.5e+38: must be a number that is finite in fp32"},
      {weights("[[1, 1e999]]"), "t.jsonl: line 1: /topk_weights/0/1: 1e999: must be a number that a double can hold"},
      {weighted + R"({"step": 1, "rank": 0, "topk_ids": [[1, 2]]})",
       "t.jsonl: line 2: /topk_weights: missing: earlier lines have it"},
      {good + R"({"step": 1, "rank": 0, "topk_ids": [[1, 2]], "topk_weights": [[1, 0]]})",
       "t.jsonl: line 2: /topk_weights: [[1,0]]: must be on every line or on none: earlier lines do not have it"},
  });
}

}  // namespace
}  // namespace switchyard::harness
