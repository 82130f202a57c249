// SPDX-License-Identifier: Apache-2.0
// Every rule of the scenario language is broken once; each time the message names place, value and rule.
#include "bad_input.hpp"

namespace switchyard::harness {
namespace {

std::string one(const std::string& more) { return suite_text(scenario_text(more)); }
std::string bare(const std::string& more) { return suite_text(shapeless_text(more)); }
std::string swept(const std::string& sweep) { return one(R"(, "sweep": )" + sweep); }

TEST(bad_input, text_that_is_no_json) {
  expect_refusals({
      {"", "t.json: empty file"},
      {" \n\t ", "t.json: empty file"},
      {"{", "t.json: line 1, column 2: not JSON: "},
      {one("").substr(0, 60), "t.json: line 1, column 61: not JSON: "},
      {"{\n  \"suite\": nope}", "t.json: line 2, column 13: not JSON: "},
      {one("") + " {}", "t.json: line 1, column 158: not JSON: "},
      {"// no\n" + one(""), "t.json: line 1, column 1: not JSON: "},
      {one(R"(, "steps": 01)"), "t.json: line 1, column 166: not JSON: "},
      {one(R"(, "steps": NaN)"), "t.json: line 1, column "},
      {one(R"(, "steps": 1e999)"), "t.json: /scenarios/0/steps: 1e999: must be a number that a double can hold"},
      {"[0, {\"a\": [1, -1e400]}]", "t.json: /1/a/1: -1e400: must be a number that a double can hold"},
      {"{\"suite\": \"\xff\"}", "t.json: line 1, column 12: not UTF-8"},
      {"{\"suite\": \"\xc0\xaf\"}", "t.json: line 1, column 12: not UTF-8"},      // overlong
      {"{\"suite\": \"\xed\xa0\x80\"}", "t.json: line 1, column 12: not UTF-8"},  // a surrogate
      {"{\n\"suite\": \"\xe2\x82", "t.json: line 2, column 11: not UTF-8"},       // cut inside a character
      {std::string("{\"suite\": \"\0\"}", 13), "t.json: line 1, column 12: not JSON: "},
  });
}

TEST(bad_input, duplicate_keys) {
  expect_refusals({
      {R"({"suite": "t", "suite": "t"})", "t.json: /suite: duplicate key"},
      {one(R"(, "ranks": 4)"), "t.json: /scenarios/0/ranks: duplicate key"},
      {swept(R"({"kind": "product", "axes": {"steps": [1], "steps": [2]}})"),
       "t.json: /scenarios/0/sweep/axes/steps: duplicate key"},
      {swept(R"([{"kind": "zip", "axes": {"steps": [1]}}, {"kind": "zip", "kind": "zip"}])"),
       "t.json: /scenarios/0/sweep/1/kind: duplicate key"},
  });
}

TEST(bad_input, top_level) {
  expect_refusals({
      {"[]", "t.json: []: must be an object"},
      {"null", "t.json: null: must be an object"},
      {R"({"description": "d", "scenarios": []})", "t.json: /suite: missing"},
      {R"({"suite": "t", "scenarios": []})", "t.json: /description: missing"},
      {R"({"suite": "t", "description": "d"})", "t.json: /scenarios: missing"},
      {R"({"suite": "t", "description": "d", "scenarios": []})",
       "t.json: /scenarios: []: must have at least one scenario"},
      {R"({"suite": "t", "description": "d", "scenarios": {}})", "t.json: /scenarios: {}: must be an array"},
      {R"({"suite": "t", "description": "d", "scenarios": [], "a/b~c": 1})", "t.json: /a~1b~0c: 1: unknown field"},
      {R"({"suite": "u", "description": "d", "include": ["v"]})",
       "t.json: /suite: u: must be the file's name without .json: t"},
      {R"({"suite": "t", "description": "d", "include": []})", "t.json: /include: []: must have at least one suite"},
      {R"({"suite": "t", "description": "d", "include": "v"})", R"(t.json: /include: "v": must be an array)"},
      {R"({"suite": "t", "description": "d", "include": ["a.json"]})",
       R"(t.json: /include/0: "a.json": must be a text of one or more of a-z, 0-9 and _)"},
      {R"({"suite": "t", "description": "d", "include": ["v", "v"]})", R"(t.json: /include/1: "v": is there twice)"},
      {R"({"suite": "T x", "description": "d", "scenarios": []})",
       R"(t.json: /suite: "T x": must be a text of one or more of a-z, 0-9 and _)"},
      {R"({"suite": "t", "description": "", "scenarios": []})",
       R"(t.json: /description: "": must be a text that is not empty, on one line)"},
      {suite_text("7"), "t.json: /scenarios/0: 7: must be an object"},
  });
}

TEST(bad_input, names_and_tags) {
  const std::string shape = R"("ranks": 4, "tokens": 8, "profile": "tiny")";
  expect_refusals({
      {suite_text(R"({"sentence": "x", )" + shape + "}"), "t.json: /scenarios/0/name: missing"},
      {suite_text(R"({"name": "s", )" + shape + "}"), "t.json: /scenarios/0/sentence: missing"},
      {suite_text(R"({"name": "a=b", "sentence": "x", )" + shape + "}"),
       R"(t.json: /scenarios/0/name: "a=b": must be a text of one or more of a-z, 0-9 and _)"},
      {suite_text(R"({"name": 3, "sentence": "x", )" + shape + "}"), "t.json: /scenarios/0/name: 3: must be a text"},
      {suite_text(R"({"name": "s", "sentence": "two\nlines", )" + shape + "}"),
       R"(t.json: /scenarios/0/sentence: "two\nlines": must be a text that is not empty, on one line)"},
      {suite_text(scenario_text("") + "," + scenario_text("")),
       "t.json: /scenarios/1/name: s: is the name of two scenarios"},
      {one(R"(, "tags": "smoke")"), R"(t.json: /scenarios/0/tags: "smoke": must be an array)"},
      {one(R"(, "tags": ["a", "B"])"), R"(t.json: /scenarios/0/tags/1: "B": must be a text of one or more)"},
      {one(R"(, "tags": ["a", "a"])"), R"(t.json: /scenarios/0/tags/1: "a": is there twice)"},
  });
}

TEST(bad_input, values_of_fields) {
  const std::string at = "t.json: /scenarios/0/";
  expect_refusals({
      {one(R"(, "step": 3)"), at + "step: 3: unknown field"},
      {one(R"(, "steps": 0)"), at + "steps: 0: must be an integer from 1 to 1048576"},
      {one(R"(, "steps": -1)"), at + "steps: -1: must be an integer from 1 to 1048576"},
      {one(R"(, "steps": 2.0)"), at + "steps: 2.0: must be an integer from 1 to 1048576"},
      {one(R"(, "steps": "2")"), at + R"(steps: "2": must be an integer from 1 to 1048576)"},
      {one(R"(, "steps": true)"), at + "steps: true: must be an integer from 1 to 1048576"},
      {one(R"(, "steps": null)"), at + "steps: null: must be an integer from 1 to 1048576"},
      {one(R"(, "steps": [2])"), at + "steps: [2]: must be an integer from 1 to 1048576"},
      {one(R"(, "steps": 4294967298)"), at + "steps: 4294967298: must be an integer"},  // 2 + 2^32
      {one(R"(, "steps": 18446744073709551617)"),
       at + "steps: 1.8446744073709552e+19: must be an integer"},                                         // 1 + 2^64
      {one(R"(, "steps": 9223372036854775809)"), at + "steps: 9223372036854775809: must be an integer"},  // 1 + 2^63
      {one(R"(, "first_epoch": 0)"), at + "first_epoch: 0: must be an integer from 1 to 4294967295"},
      {one(R"(, "first_epoch": 4294967296)"), at + "first_epoch: 4294967296: must be an integer from 1"},
      {one(R"(, "blocks": 257)"), at + "blocks: 257: must be an integer from 1 to 256"},
      {one(R"(, "workers": 0)"), at + "workers: 0: must be an integer from 1 to 256"},
      {one(R"(, "invalid_percent": 101)"), at + "invalid_percent: 101: must be an integer from 0 to 100"},
      {one(R"(, "late_us": -5)"), at + "late_us: -5: must be an integer from 0 to 60000000"},
      {one(R"(, "timeout_ms": 86400001)"), at + "timeout_ms: 86400001: must be an integer from 1 to 86400000"},
      {one(R"(, "max_tokens_per_rank": 0)"), at + "max_tokens_per_rank: 0: must be an integer from 1 to 1048576"},
      {one(R"(, "runtime_max_tokens": 0)"), at + "runtime_max_tokens: 0: must be an integer from 1 to 1048576"},
      {one(R"(, "extra_bytes": -1)"), at + "extra_bytes: -1: must be an integer from 0 to 1048576"},
      {one(R"(, "topk_weights": 1)"), at + "topk_weights: 1: must be true or false"},
      {one(R"(, "topk_weights": "true")"), at + R"(topk_weights: "true": must be true or false)"},
      {one(R"(, "dtype": "bf32")"), at + R"(dtype: "bf32": must be one of bf16, fp16, fp32)"},
      {one(R"(, "dtype": "BF16")"), at + R"(dtype: "BF16": must be one of bf16, fp16, fp32)"},
      {one(R"(, "dispatch_format": 8)"), at + "dispatch_format: 8: must be one of bf16, fp16, fp8, fp8_block128, "},
      {one(R"(, "routing": "random")"), at + R"(routing: "random": must be one of uniform, balanced)"},
      {one(R"(, "variation": "none")"), at + R"(variation: "none": must be one of fixed, vary)"},
      {one(R"(, "expected_fault": "hang")"), at + R"(expected_fault: "hang": must be one of none, timeout, )"},
      {one(R"(, "inject": 3)"), at + "inject: 3: must be an object"},
      {one(R"(, "inject": {"kind": "stop", "rang": 3})"), at + "inject/rang: 3: unknown field"},
      {one(R"(, "inject": {"kind": "stop", "rank": 256})"), at + "inject/rank: 256: must be an integer from 0 to 255"},
      {one(R"(, "inject": {"kind": "stop", "phase": "send"})"),
       at + R"(inject/phase: "send": must be one of dispatch, combine)"},
      {one(R"(, "inject.rank": 1)"), at + "inject.rank: 1: unknown field; write the object inject"},
      {one(R"(, "routing": ")" + std::string(200, 'y') + "\""),
       at + "routing: \"" + std::string(59, 'y') + "...: must"},
  });
}

TEST(bad_input, impossible_shapes) {
  const std::string at = "t.json: /scenarios/0/";
  expect_refusals({
      {bare(""), at + "profile: missing: a scenario has a profile, or num_experts, top_k and hidden_size (case t/s)"},
      {bare(R"(, "top_k": 2, "hidden_size": 8)"), at + "num_experts: missing (case t/s)"},
      {bare(R"(, "num_experts": 8, "hidden_size": 8)"), at + "top_k: missing (case t/s)"},
      {bare(R"(, "num_experts": 8, "top_k": 2)"), at + "hidden_size: missing (case t/s)"},
      {bare(R"(, "profile": "huge")"), at + "profile: huge: must be one of tiny (case t/s)"},
      {bare(R"(, "profile": "tiny", "top_k": 2)"), at + "top_k: 2: cannot be set beside a profile, which sets it"},
      {bare(R"(, "num_experts": 8, "top_k": 9, "hidden_size": 8)"),
       at + "top_k: 9: must be at most num_experts (8) (case t/s)"},
      {bare(R"(, "num_experts": 80, "top_k": 33, "hidden_size": 8)"),
       at + "top_k: 33: must be an integer from 1 to 32"},
      {bare(R"(, "num_experts": 3, "top_k": 2, "hidden_size": 8)"),
       at + "ranks: 4: must be at most num_experts (3): every rank owns an expert (case t/s)"},
      {bare(R"(, "num_experts": 8, "top_k": 2, "hidden_size": 0)"), at + "hidden_size: 0: must be an integer from 1"},
      {suite_text(R"({"name": "s", "sentence": "x", "tokens": 8, "profile": "tiny"})"),
       at + "ranks: missing (case t/s)"},
      {suite_text(R"({"name": "s", "sentence": "x", "ranks": 2, "profile": "tiny"})"),
       at + "tokens: missing: a scenario has tokens, token_counts or a trace (case t/s)"},
      {one(R"(, "runtime_max_tokens": 7)"), at + "tokens: 8: must be at most runtime_max_tokens (7) (case t/s)"},
      {one(R"(, "max_tokens_per_rank": 7)"),
       at + "max_tokens_per_rank: 7: must be at least tokens and runtime_max_tokens (8) (case t/s)"},
      {one(R"(, "runtime_max_tokens": 9, "max_tokens_per_rank": 8)"),
       at + "max_tokens_per_rank: 8: must be at least tokens and runtime_max_tokens (9) (case t/s)"},
      {suite_text(R"({"name": "s", "sentence": "x", "ranks": 256, "tokens": 1, "num_experts": 256, "top_k": 1,
                      "hidden_size": 1048576, "max_tokens_per_rank": 1048576})"),
       at + "max_tokens_per_rank: 1048576: max_tokens_per_rank"},
  });
}

TEST(bad_input, impossible_faults) {
  const std::string at = "t.json: /scenarios/0/";
  expect_refusals({
      {one(R"(, "expected_fault": "timeout")"),
       at + "expected_fault: timeout: needs inject, or runtime_max_tokens_from own_tokens: nothing else makes "
            "a case fault (case t/s)"},
      {one(R"(, "inject": {"kind": "stop", "rank": 1})"),
       at + "expected_fault: must be timeout where a rank does this (inject.kind stop)"},
      {one(R"(, "expected_fault": "aborted", "inject": {"kind": "stop", "rank": 1})"),
       at + "expected_fault: aborted: must be timeout where a rank does this"},
      {one(R"(, "expected_fault": "timeout", "inject": {"kind": "stop", "step": 1})"),
       at + "inject.rank: missing (case t/s)"},
      {one(R"(, "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 4})"),
       at + "inject/rank: 4: must be below ranks (4)"},
      {one(R"(, "expected_fault": "timeout", "steps": 2, "inject": {"kind": "stop", "rank": 3, "step": 2})"),
       at + "inject/step: 2: must be below steps (2) (case t/s)"},
      {suite_text(R"({"name": "s", "sentence": "x", "ranks": 1, "tokens": 1, "profile": "tiny",)"
                  R"( "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 0}})"),
       at + "ranks: 1: must be at least 2 where a rank errs"},
      {one(R"(, "expected_fault": "timeout", "inject": {"rank": 1})"), at + "inject.kind: missing: it says what"},
      {one(R"(, "inject": {"kind": "late", "rank": 1})"), at + "inject.late_ms: must be set where inject.kind is late"},
      {one(R"(, "inject": {"kind": "late", "rank": 1, "step": 1, "late_ms": 10000})"),
       at + "inject/late_ms: 10000: must be below the deadline (10000 ms) where no fault is expected"},
      {one(R"(, "expected_fault": "timeout", "inject": {"kind": "late", "rank": 1, "late_ms": 10000})"),
       at + "inject/late_ms: 10000: must be above the deadline (10000 ms) where a timeout is expected"},
      {one(R"(, "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 1, "late_ms": 1})"),
       at + "inject/late_ms: 1: must be set where inject.kind is late, and only there"},
      {one(R"(, "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 1, "field": "transport"})"),
       at + "inject/field: transport: goes with inject.kind disagree and corrupt only"},
      {one(R"(, "expected_fault": "bad_header", "inject": {"kind": "corrupt", "rank": 1, "field": "row_count"})"),
       at + "inject/field: row_count: needs lamport off: headers of Lamport steps do not have it"},
      {one(R"(, "expected_fault": "out_of_order", "steps": 2,
              "inject": {"kind": "skip", "rank": 1, "step": 1, "phase": "combine"})"),
       at + "inject/step: 1: must be below the last step where combine is skipped"},
      {one(R"(, "expected_fault": "step_mismatch", "inject": {"kind": "disagree", "rank": 1})"),
       at + "inject.field: must be one of runtime_max_tokens_per_rank, payload_set, "},
      {one(R"(, "expected_fault": "step_mismatch", "inject": {"kind": "disagree", "rank": 1, "field": "transport"})"),
       at + "inject/field: transport: must be one of runtime_max_tokens_per_rank, payload_set, "},
      {one(R"(, "expected_fault": "step_mismatch",
              "inject": {"kind": "disagree", "rank": 1, "field": "payload_set", "phase": "combine"})"),
       at + "inject/phase: combine: must be dispatch, in which the field is declared"},
      {one(R"(, "expected_fault": "step_mismatch", "topk_weights": false,
              "inject": {"kind": "disagree", "rank": 1, "field": "payload_set"})"),
       at + "inject/field: payload_set: needs topk_weights"},
      {one(R"(, "expected_fault": "step_mismatch",
              "inject": {"kind": "disagree", "rank": 1, "field": "extra_row_bytes"})"),
       at + "inject/field: extra_row_bytes: needs rows of at least 2 bytes of extra"},
      {one(R"(, "expected_fault": "step_mismatch",
              "inject": {"kind": "disagree", "rank": 1, "field": "runtime_max_tokens_per_rank"})"),
       at + "inject/field: runtime_max_tokens_per_rank: needs max_tokens_per_rank above T"},
      {one(R"(, "expected_fault": "step_mismatch", "variation": "vary",
              "inject": {"kind": "disagree", "rank": 1, "field": "payload_set"})"),
       at + "inject/field: payload_set: cannot go with variation vary"},
      {one(R"(, "expected_fault": "step_mismatch", "inject": {"kind": "corrupt", "rank": 1})"),
       at + "expected_fault: step_mismatch: must be bad_header where a rank does this (inject.kind corrupt)"},
      {one(R"(, "expected_fault": "step_mismatch",
              "inject": {"kind": "disagree", "rank": 1, "field": "eplb_stats_length"})"),
       at + "inject/field: eplb_stats_length: needs eplb_stats"},
      {one(R"(, "expected_fault": "step_mismatch", "inject": {"kind": "corrupt", "rank": 1, "phase": "combine",
              "field": "eplb_stats_length"})"),
       at + "inject/phase: combine: must be dispatch, in which eplb_stats_length is declared"},
      {one(R"(, "eplb_stats": 1000)"), at + "eplb_stats: 1000: must be at most num_experts"},
      {one(R"(, "lacks_room_for": "extra")"), at + "lacks_room_for: extra: needs extra_bytes"},
      {one(R"(, "lacks_room_for": "eplb_stats")"), at + "lacks_room_for: eplb_stats: needs eplb_stats"},
      {one(R"(, "lacks_room_for": "hidden_states_scale")"),
       at + "lacks_room_for: hidden_states_scale: needs a dispatch_format with scales"},
      {one(R"(, "lacks_room_for": "hidden_states", "variation": "vary")"),
       at + "lacks_room_for: hidden_states: needs launch eager, variation fixed"},
      {one(R"(, "recover": true)"), at + "recover: true: needs inject and expected_fault"},
      {one(R"(, "expected_fault": "timeout", "recover": true, "inject": {"kind": "exit", "rank": 1})"),
       at + "recover: true: cannot go with inject.kind exit"},
      {one(R"(, "expected_fault": "timeout", "recover": true, "steps": 2,
              "inject": {"kind": "stop", "rank": 1, "step": 1})"),
       at + "recover: true: needs a step behind the fault"},
      {one(R"(, "layers": 0)"), at + "layers: 0: must be"},
      {one(R"(, "retire_every": 1)"), at + "retire_every: 1: needs two layers"},
      {one(R"(, "layers": 2, "retire_every": 9)"), at + "retire_every: 9: must be below steps"},
      {one(R"(, "checkpoint_every": 9)"), at + "checkpoint_every: 9: must be below steps"},
      {one(R"(, "checkpoint_every": 1, "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 1})"),
       at + "checkpoint_every: 1: cannot go with a fault"},
      {one(R"(, "layers": 2, "expected_fault": "timeout", "inject": {"kind": "exit", "rank": 1})"),
       at + "layers: 2: must be 1 where a rank exits"},
      {one(R"(, "expected_fault": "step_mismatch",
              "inject": {"kind": "disagree", "rank": 1, "field": "instance"})"),
       at + "inject/field: instance: needs two layers"},
      {one(R"(, "layers": 2, "expected_fault": "step_mismatch",
              "inject": {"kind": "corrupt", "rank": 1, "phase": "combine", "field": "instance"})"),
       at + "inject/phase: combine: must be dispatch, in which instance is declared"},
      {one(R"(, "side_workspace_every": 9)"), at + "side_workspace_every: 9: must be at most steps"},
      {one(R"(, "side_workspace_every": 1, "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 1})"),
       at + "side_workspace_every: 1: cannot go with a fault"},
      {one(R"(, "side_workspace_every": 1, "lacks_room_for": "hidden_states")"),
       at + "lacks_room_for: hidden_states: needs one layer, no checkpoint_every and no side_workspace_every"},
      {one(R"(, "dispatch_format": "fp8", "layer_formats": "all_that_fit")"),
       at + "layer_formats: all_that_fit: needs two layers"},
      {one(R"(, "layers": 2, "layer_formats": "all_that_fit")"),
       at + "layer_formats: all_that_fit: needs a dispatch_format whose rows and scales have room"},
      {one(R"(, "layers": 2, "dispatch_format": "mxfp4", "layer_formats": "all_that_fit")"),
       at + "layer_formats: all_that_fit: needs a dispatch_format whose rows and scales have room"},
      {one(R"(, "layers": 2, "dispatch_format": "bf16", "values": "nan_rows", "layer_formats": "all_that_fit")"),
       at + "layer_formats: all_that_fit: cannot go with values nan_rows"},
      {one(R"(, "layers": 5, "dispatch_format": "fp8_block128", "layer_formats": "all_that_fit", "steps": 5,
              "expected_fault": "step_mismatch", "inject": {"kind": "disagree", "rank": 1, "step": 4,
              "field": "hidden_states_scale_row_bytes"})"),
       at + "inject/field: hidden_states_scale_row_bytes: needs rows of at least 2 bytes"},
      {one(R"(, "prompt_verdict": true)"), at + "prompt_verdict: true: needs expected_fault"},
  });
}

TEST(bad_input, sweeps) {
  const std::string at = "t.json: /scenarios/0/sweep";
  expect_refusals({
      {swept("3"), at + ": 3: must be an object"},
      {swept("[]"), at + ": []: must have at least one group"},
      {swept("[3]"), at + "/0: 3: must be an object"},
      {swept(R"({"axes": {}})"), at + "/kind: missing"},
      {swept(R"({"kind": "product"})"), at + "/axes: missing"},
      {swept(R"({"kind": "pair", "axes": {}})"), at + R"(/kind: "pair": must be one of product, zip, pairwise)"},
      {swept(R"({"kind": "product", "axes": {}})"), at + "/axes: {}: must have at least one axis"},
      {swept(R"({"kind": "product", "axes": [], "x": 1})"), at + "/x: 1: unknown field"},
      {swept(R"({"kind": "product", "axes": []})"), at + "/axes: []: must be an object"},
      {swept(R"({"kind": "product", "axes": {"name": ["a"]}})"), at + R"(/axes/name: ["a"]: unknown field)"},
      {swept(R"({"kind": "product", "axes": {"steps": 3}})"), at + "/axes/steps: 3: must be an array"},
      {swept(R"({"kind": "product", "axes": {"steps": []}})"), at + "/axes/steps: []: must have at least one value"},
      {swept(R"({"kind": "product", "axes": {"steps": [1, 0]}})"), at + "/axes/steps/1: 0: must be an integer from 1"},
      {swept(R"({"kind": "product", "axes": {"steps": [1, 2, 1]}})"),
       at + "/axes/steps/2: 1: this value is in the axis twice"},
      {swept(R"({"kind": "zip", "axes": {"blocks": [1, 1], "workers": [1, 1]}})"),
       at + "/axes/blocks/1: 1,1,: this combination is in the zip twice"},
      {swept(R"({"kind": "zip", "axes": {"blocks": [1, 2], "workers": [1]}})"),
       at + "/axes/workers: has 1 values and must have 2, as axis blocks of the same zip"},
      {swept(R"([{"kind": "zip", "axes": {"steps": [1]}}, {"kind": "zip", "axes": {"steps": [2]}}])"),
       at + "/1/axes/steps: is swept twice"},
      {swept(R"({"kind": "product", "axes": {"ranks": [1]}})"), "t.json: /scenarios/0/ranks: 4: is both set and swept"},
      {swept(R"({"kind": "product", "axes": {"runtime_max_tokens": [9, 7]}})"),
       "t.json: /scenarios/0/tokens: 8: must be at most runtime_max_tokens (7) (case t/s@runtime_max_tokens=7)"},
  });
}

TEST(bad_input, a_sweep_that_explodes) {
  std::string values = "0";
  for (int value = 1; value < 100; ++value) values.append(1, ',').append(std::to_string(value));
  const auto axes =
      R"("invalid_percent": [)" + values + R"(], "late_us": [)" + values + R"(], "extra_bytes": [)" + values + "]";
  expect_refusals({{swept(R"({"kind": "product", "axes": {)" + axes + "}}"),
                    "t.json: /scenarios/0/sweep: makes more than 100000 cases"}});
}

}  // namespace
}  // namespace switchyard::harness
