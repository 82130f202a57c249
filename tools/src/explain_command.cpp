// SPDX-License-Identifier: Apache-2.0
// switchyard explain: its options, and which kind of answer a question gets.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "explain_options.hpp"
#include "explanations.hpp"
#include "numbers.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

void list_words() {
  std::string_view kind;
  for (const auto& one : all_explanations()) {
    if (one.kind != kind) std::cout << (kind.empty() ? "" : "\n") << one.kind << ':';
    kind = one.kind;
    std::cout << ' ' << one.word;
  }
  std::cout << "\nand case ids, suite/scenario@key=value,..., and records, RECORDS.jsonl:LINE or RECORDS.jsonl:ID;\n"
               "verdicts of the gate, VERDICTS.jsonl:LINE or VERDICTS.jsonl:SCENARIO\n";
}

/// Records are named by a file whose name ends in .jsonl; what follows the colon after it is a line or an id.
harness::exit_code explain(const explain_options& options) {
  constexpr std::string_view ending = ".jsonl:";
  const std::string_view what = options.what;
  const auto records = what.find(ending);
  const bool is_case = what.find('/') != std::string_view::npos && records == std::string_view::npos;
  if (!is_case && !options.common.selection.suites.empty()) {
    throw harness::input_error("explain: one thing at a time: only a case is looked for in suites");
  }
  if (what.empty()) {
    list_words();
  } else if (records != std::string_view::npos) {
    const auto file = what.substr(0, records + ending.size() - 1);
    const auto which = what.substr(records + ending.size());
    if (holds_verdicts(std::string(file))) {
      explain_verdict(std::string(file), which);
    } else {
      explain_record(file, which);
    }
  } else if (is_case) {
    explain_case(options);
  } else {
    explain_word(what);
  }
  return harness::exit_code::all_passed;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t width = 100;
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out;
}

void explain_word(std::string_view word) {
  const auto found = explanations_of(word);
  if (found.empty()) {
    std::string known;
    for (const auto one : words_by_distance(word)) known += (known.empty() ? "" : ", ") + std::string(one);
    throw harness::input_error("explain: " + std::string(word) + ": unknown; known are, the nearest first: " + known);
  }
  constexpr std::size_t indent = 9;
  for (const auto& one : found) {
    std::cout << one.word << " (" << one.kind << ")\n  means  " << wrapped(one.meaning, indent) << '\n';
    if (!one.causes.empty()) std::cout << "  often  " << wrapped(one.causes, indent) << '\n';
    std::cout << "  look   " << wrapped(one.next, indent) << '\n';
  }
}

command add_explain_command(CLI::App& app, const invocation& call) {
  auto* added = app.add_subcommand("explain", "Say what a case is, or what a word in the output means");
  const auto options = std::make_shared<explain_options>();
  options->call = call;
  added->add_option(
      "what", options->what,
      "A case id; a fault code, verdict, status, exit code or other word of the output; or a record,\n"
      "RECORDS.jsonl:LINE or RECORDS.jsonl:ID; or a verdict of the gate, likewise. Nothing: a list of all "
      "words");
  added->add_option("suite", options->common.selection.suites,
                    "Where to look for the case: names, or paths of .json files");
  add_scenarios_option(*added, options->common);
  const auto seed = std::make_shared<std::string>("1");
  added->add_option("--seed", *seed, "Seed of what the case moves")->type_name("S")->capture_default_str();
  return {added, [added, options, seed] {
            require_text(*added, "what", options->what);
            require_text(*added, "--scenarios", options->common.scenarios.string());
            options->seed = parse_count("--seed", *seed);
            return explain(*options);
          }};
}

}  // namespace switchyard::tools
