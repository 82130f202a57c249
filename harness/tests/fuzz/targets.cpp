// SPDX-License-Identifier: Apache-2.0
// The parsers, their seeds, and the judgement.
#include "targets.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_reader.hpp"
#include "switchyard/harness/routing_trace.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/scenario_fields.hpp"
#include "switchyard/harness/scenario_file.hpp"
#include "switchyard/harness/shrink.hpp"
#include "switchyard/harness/suite_catalog.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness::fuzz {
namespace {

constexpr std::uint64_t seed_of_seeds = 1;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> words_of_fields() {
  std::vector<std::string> words{"inject", "rank", "step", "phase", "true", "false"};
  for (const auto& rule : field_rules()) {
    words.emplace_back(rule.name);
    words.insert(words.end(), rule.words.begin(), rule.words.end());
  }
  return words;
}

/// A sweep may stand for a hundred thousand cases; what goes wrong with them goes wrong with a few.
bool makes_few_cases(const scenario& which) {
  constexpr std::size_t few = 64;
  std::size_t cases = 1;
  for (const auto& group : which.sweep) {
    for (const auto& axis : group.axes) {
      cases *= axis.values.size();
      if (cases > (group.kind == sweep_kind::pairwise ? few * few : few)) return false;
      if (group.kind == sweep_kind::zip) break;
    }
  }
  return true;
}

target scenario_target(const std::filesystem::path& scenarios) {
  // Named as if it stood among the shipped ones, whose traces it may use.
  target result{"scenario", (scenarios / "fuzzed.json").string(), text_form::document, {}, words_of_fields(), {}};
  for (const auto* word : {"suite", "description", "scenarios", "name", "sentence", "tags", "sweep", "kind", "axes",
                           "product", "zip", "pairwise", "exclude", "include"}) {
    result.words.emplace_back(word);
  }
  // A suite has its file's name; without this every text would be refused for the same reason.
  const auto renamed = [](std::string text) {
    auto tree = nlohmann::ordered_json::parse(text);
    tree["suite"] = "fuzzed";
    return tree.dump(1);
  };
  const suite_catalog catalog(scenarios);
  for (const auto& name : catalog.names()) result.seeds.push_back(renamed(text_of(scenarios / (name + ".json"))));
  for (std::uint64_t number = 0; number < 20; ++number) {  // small ones that set everything
    result.seeds.push_back(scenario_file_text(draw_settings(seed_of_seeds, number), "fuzzed", "A drawn case."));
  }
  result.seeds.emplace_back(R"({"suite": "fuzzed", "description": "d", "scenarios": [{"name": "a", "sentence": "x",
      "num_experts": 8, "top_k": 2, "hidden_size": 64, "ranks": 2, "tokens": 4, "expected_fault": "timeout",
      "inject": {"kind": "stop", "rank": 1, "step": 0, "phase": "combine"}, "sweep": [
      {"kind": "zip", "axes": {"steps": [1, 2, 1], "dtype": ["bf16", "fp16", "fp32"]}},
      {"kind": "product", "axes": {"invalid_percent": [0, 100], "topk_weights": [true, false]}}]}]})");
  result.seeds.emplace_back(R"({"suite": "fuzzed", "description": "d", "include": ["smoke"], "scenarios": [{"name": "a",
      "sentence": "x", "num_experts": 32, "top_k": 2, "hidden_size": 64, "tokens": 4,
      "sweep": {"kind": "pairwise", "axes": {"ranks": [1, 2, 3], "dtype": ["bf16", "fp16", "fp32"], "steps": [1, 2, 3]},
      "exclude": [{"ranks": [1], "steps": [2, 3]}, {"dtype": ["fp16"], "steps": [1]}]}}]})");
  result.parse = [profiles = catalog.profiles(), file = result.file](const std::string& text) {
    const auto suite = parse_suite(text, file);
    for (const auto& which : suite.scenarios) {
      if (makes_few_cases(which)) expand(suite, which, profiles);
    }
  };
  return result;
}

target trace_target(const std::filesystem::path& scenarios) {
  target result{"trace", "fuzzed.jsonl", text_form::lines, {}, words_of_fields(), {}};
  for (const auto* word : {"trace", "description", "synthetic", "generator", "seed", "num_experts", "top_k", "ranks",
                           "step", "rank", "topk_ids", "topk_weights"}) {
    result.words.emplace_back(word);
  }
  for (const auto* name : {"b03_mixed_slots", "b04_same_expert", "b18_uneven", "b20_sum", "skewed_r2"}) {
    auto text = text_of(scenarios / "traces" / (std::string(name) + ".jsonl"));
    constexpr std::size_t enough_bytes = 2000;  // of a long trace the first lines: they say what the others say
    if (text.size() > enough_bytes) text.resize(text.rfind('\n', enough_bytes) + 1);
    const auto end = text.find('\n');
    auto first = nlohmann::ordered_json::parse(text.substr(0, end));
    first["trace"] = "fuzzed";  // a trace has its file's name
    result.seeds.push_back(first.dump() + text.substr(end));
  }
  result.seeds.emplace_back(
      "{\"step\": 1, \"rank\": 0, \"topk_ids\": [[1], [-1]]}\n{\"step\": 0, \"rank\": 3, \"topk_ids\": []}\n");
  result.parse = [file = result.file](const std::string& text) {
    const auto trace = routing_trace::parse(text, file);
    // What it says of itself must be there.
    const auto& about = trace.about();
    const int last = std::min(about.steps, 64);
    for (int step = 0; step <= last; ++step) {
      for (int rank = 0; rank < std::min(about.ranks, 64); ++rank) {
        for (std::int64_t token = 0; token < trace.num_tokens(step, rank); ++token) {
          const auto ids = trace.topk_ids(step, rank, token);
          if (static_cast<std::int64_t>(ids.size()) != about.top_k) throw std::logic_error("a row is too short");
        }
      }
    }
  };
  return result;
}

std::string records_of(const std::vector<case_spec>& cases) {
  run_description run;
  run.started = "2026-11-29T16:46:08Z";
  run.cases = cases.size();
  std::string text = record_line(header_json(read_environment(), run));
  text += '\n';
  for (const auto& spec : cases) {
    arena memory(required_bytes(spec));
    const auto result = run_case(spec, memory, {});
    text += record_line(case_json(spec, result, 1, std::chrono::milliseconds(1))) + '\n';
  }
  return text;
}

target record_target() {
  target result{"record", "fuzzed.jsonl", text_form::lines, {}, words_of_fields(), {}};
  for (const auto* word :
       {"record", "header", "case", "schema", "env", "run", "cases", "id", "status", "pass", "fail"}) {
    result.words.emplace_back(word);
  }
  const auto drawn = [](const std::string& more) {
    return expand_one(random_suite(),
                      parse_case_id("random/drawn@hidden_size=8,num_experts=3,steps=2,tokens=3,top_k=2" + more), {});
  };
  const auto passing = drawn(",ranks=2");
  const auto faulting = drawn(",inject.kind=stop,inject.rank=1,expected_fault=timeout,ranks=3,timeout_ms=100");
  auto failing = passing;
  failing.expected_fault = fault_code::timeout;  // that does not come
  result.seeds = {records_of({passing}), records_of({passing, failing, faulting, passing})};
  result.parse = [file = result.file](const std::string& text) { parse_records(text, file); };
  return result;
}

target id_target() {
  target result{"id", "case id", text_form::plain, {}, words_of_fields(), {}};
  for (std::uint64_t number = 0; number < 50; ++number) result.seeds.push_back(draw_case(seed_of_seeds, number).id);
  result.parse = [](const std::string& text) {
    auto address = parse_case_id(text);
    address.suite = random_suite_name;  // else the scenario would be looked for in vain
    address.scenario = random_scenario_name;
    expand_one(random_suite(), address, {});
  };
  return result;
}

std::chrono::nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());  // strict unless told otherwise
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> target_names() { return {"scenario", "trace", "record", "id"}; }

target make_target(const std::string& name, const std::filesystem::path& scenarios) {
  if (name == "scenario") return scenario_target(scenarios);
  if (name == "trace") return trace_target(scenarios);
  if (name == "record") return record_target();
  if (name == "id") return id_target();
  std::string known;
  for (const auto& one : target_names()) known += (known.empty() ? "" : ", ") + one;
  throw input_error("--parser: " + name + ": must be one of " + known);
}

std::optional<std::string> message_problem(std::string_view message, std::string_view file) {
  constexpr std::size_t longest = 2000;
  if (message.find(file) == std::string_view::npos) return "the message does not name " + std::string(file);
  if (message.size() > longest) return "the message has " + std::to_string(message.size()) + " bytes";
  for (const char letter : message) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20U || code == 0x7FU) return "the message has the control character " + std::to_string(code);
  }
  if (!is_utf8(std::string(message))) return "the message is not UTF-8";
  return std::nullopt;
}

judgement judge(const target& what, const std::string& text, std::chrono::nanoseconds limit) {
  judgement result;
  const auto wrong = [&](std::string problem) {
    result.verdict = verdict::wrong;
    result.problem = std::move(problem);
  };
  const auto begin = thread_time();
  try {
    what.parse(text);
  } catch (const input_error& error) {
    result.verdict = verdict::refused;
    if (auto problem = message_problem(error.what(), what.file)) wrong(*problem + ": " + error.what());
  } catch (const std::exception& error) {
    wrong(std::string("an exception that is no input_error: ") + error.what());
  } catch (...) {
    wrong("an exception of unknown type");
  }
  result.cpu_time = thread_time() - begin;
  if (result.verdict != verdict::wrong && result.cpu_time > limit) {
    wrong("it took " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(result.cpu_time).count()) +
          " ms");
  }
  return result;
}

}  // namespace switchyard::harness::fuzz
