// SPDX-License-Identifier: Apache-2.0
// The parsers that are fuzzed, each with texts that it takes, and what they must do with any text at all: return, or
// throw input_error with one printable line that names the file, in a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mutator.hpp"

namespace switchyard::harness::fuzz {

struct target {
  std::string name;
  std::string file;  ///< every refusal names it
  text_form form = text_form::document;
  std::vector<std::string> seeds;
  std::vector<std::string> words;
  std::function<void(const std::string& text)> parse;
};

/// The names that make_target() knows.
std::vector<std::string> target_names();

/// The parser `name` with seeds out of the folder of shipped scenarios. Throws input_error for another name.
target make_target(const std::string& name, const std::filesystem::path& scenarios);

enum class verdict : std::uint8_t { accepted, refused, wrong };

struct judgement {
  fuzz::verdict verdict = fuzz::verdict::accepted;
  std::string problem;                   ///< when wrong
  std::chrono::nanoseconds cpu_time{0};  ///< of the thread: another program on the machine makes no parser slow
};

/// Gives `text` to the parser and judges what it did.
judgement judge(const target& what, const std::string& text, std::chrono::nanoseconds limit);

/// What is wrong with a refusal's message, or nothing.
std::optional<std::string> message_problem(std::string_view message, std::string_view file);

}  // namespace switchyard::harness::fuzz
