// SPDX-License-Identifier: Apache-2.0
#include "bench_shapes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "numbers.hpp"
#include "switchyard/harness/case_choices.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

using harness::bench_shape;

constexpr std::int64_t hidden_unit = 8;  // NCCL's yardstick sums so many elements at once
constexpr std::int64_t most_hidden = 65536;
constexpr std::int64_t most_experts = 65536;
constexpr std::size_t most_shapes = 1000;

/// An option, its words, and the key of the shape that it names.
struct shape_option {
  const char* name;
  std::vector<std::string> bench_arguments::*words;
  const char* key;
};
constexpr std::array shape_options{
    shape_option{"--hidden", &bench_arguments::hidden_sizes, "hidden_size"},
    shape_option{"--top-k", &bench_arguments::top_ks, "top_k"},
    shape_option{"--experts", &bench_arguments::num_experts, "num_experts"},
    shape_option{"--format", &bench_arguments::formats, "dispatch_format"},
    shape_option{"--low-precision-combine", &bench_arguments::low_precision_combines, "low_precision_combine"}};

std::int64_t hidden_of(const std::string& word) {
  const auto size = parse_count_within("--hidden", word, hidden_unit, most_hidden);
  if (size % hidden_unit != 0) {
    throw harness::input_error("--hidden: " + word + ": must be a multiple of " + std::to_string(hidden_unit));
  }
  return size;
}

std::optional<dispatch_format> format_of(const std::string& word) {
  if (word == harness::format_word(std::nullopt)) return std::nullopt;
  const auto format = dispatch_format_from_string(word);
  if (!format) {
    throw harness::input_error("--format: " + word +
                               ": must be one of none, bf16, fp16, fp8, fp8_block128, mxfp8, nvfp4, mxfp4");
  }
  return format;
}

low_precision low_precision_of(const std::string& word) {
  const auto format = low_precision_from_string(word);
  if (!format) {
    throw harness::input_error("--low-precision-combine: " + word + ": must be one of none, fp8, fp8_block_scaled");
  }
  return *format;
}

/// Every shape once for each word, with what `set` makes of it.
template <class Set>
void multiply(std::vector<bench_shape>& shapes, const shape_option& option, const std::vector<std::string>& words,
              Set set) {
  if (words.empty()) return;
  std::vector<bench_shape> result;
  for (const auto& shape : shapes) {
    for (const auto& word : words) {
      auto one = shape;
      set(one, word);
      if (std::ranges::count(result, one) != 0) {
        throw harness::input_error(std::string(option.name) + ": " + word + ": is named twice");
      }
      result.push_back(one);
      if (result.size() > most_shapes) {
        throw harness::input_error(std::string(option.name) + ": makes more than " + std::to_string(most_shapes) +
                                   " shapes");
      }
    }
  }
  shapes = std::move(result);
}

void require_shape(const bench_shape& shape, int ranks) {
  const auto experts = std::to_string(shape.num_experts);
  if (shape.num_experts < ranks) {
    throw harness::input_error("--experts: " + experts + ": must be at least the ranks (" + std::to_string(ranks) +
                               ')');
  }
  if (shape.top_k > shape.num_experts) {
    throw harness::input_error("--top-k: " + std::to_string(shape.top_k) + ": must be at most the experts (" + experts +
                               ')');
  }
}

}  // namespace

void add_shape_options(CLI::App& command, bench_arguments& into) {
  constexpr auto one_point = "; a list: each of them";
  const auto add = [&](const shape_option& option, const std::string& meaning, const char* type) {
    command.add_option(option.name, into.*option.words, meaning + one_point)->type_name(type)->delimiter(',');
  };
  const auto& [hidden, top_k, experts, format, low_precision_combine] = shape_options;
  add(hidden, "Elements of a token, instead of the profile's", "N,...");
  add(top_k, "Experts of a token, instead of the profile's", "N,...");
  add(experts, "Experts of the group, instead of the profile's", "N,...");
  add(format,
      "Format of dispatch, instead of the profile's: none (rows of its dtype), bf16, fp16, fp8, fp8_block128, mxfp8, "
      "nvfp4, mxfp4",
      "NAME,...");
  add(low_precision_combine, "How expert outputs travel in combine: none, fp8, fp8_block_scaled", "NAME,...");
}

void read_shapes(const bench_arguments& arguments, harness::bench_options& options) {
  std::vector<bench_shape> shapes{harness::shape_of(options.params, options.low_precision_combine)};
  const auto& [hidden, top_k, experts, format, low_precision_combine] = shape_options;
  multiply(shapes, hidden, arguments.hidden_sizes,
           [](bench_shape& shape, const std::string& word) { shape.hidden_size = hidden_of(word); });
  multiply(shapes, top_k, arguments.top_ks, [](bench_shape& shape, const std::string& word) {
    shape.top_k = parse_count_within("--top-k", word, 1, max_top_k);
  });
  multiply(shapes, experts, arguments.num_experts, [](bench_shape& shape, const std::string& word) {
    shape.num_experts = parse_count_within("--experts", word, 1, most_experts);
  });
  multiply(shapes, format, arguments.formats,
           [](bench_shape& shape, const std::string& word) { shape.dispatch_format = format_of(word); });
  multiply(shapes, low_precision_combine, arguments.low_precision_combines,
           [](bench_shape& shape, const std::string& word) { shape.low_precision_combine = low_precision_of(word); });
  for (const auto& shape : shapes) require_shape(shape, options.ranks);
  options.params = harness::params_of(shapes.front(), options.params);
  options.low_precision_combine = shapes.front().low_precision_combine;
  options.shapes = std::move(shapes);
  for (const auto& option : shape_options) {
    if (!(arguments.*option.words).empty()) options.named_keys.emplace_back(option.key);
  }
}

std::vector<std::string> shape_options_again(const bench_arguments& arguments) {
  std::vector<std::string> again;
  for (const auto& option : shape_options) {
    const auto& words = arguments.*option.words;
    if (!words.empty()) again.insert(again.end(), {option.name, joined(words)});
  }
  return again;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& one : words) text += (text.empty() ? "" : ",") + one;
  return text;
}

}  // namespace switchyard::tools
