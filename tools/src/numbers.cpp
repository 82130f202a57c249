// SPDX-License-Identifier: Apache-2.0
// Numbers on the command line.
#include "numbers.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::tools {
namespace {

std::optional<std::uint64_t> whole_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;  // octal to some, decimal to others
  std::uint64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return number;
}

}  // namespace

std::uint64_t parse_count(const std::string& option, const std::string& text) {
  const auto number = whole_number(text);
  if (!number) throw harness::input_error(option + ": " + text + ": must be an integer from 0 to 18446744073709551615");
  return *number;
}

std::int64_t parse_count_within(const std::string& option, const std::string& text, std::int64_t least,
                                std::int64_t most) {
  const auto value = parse_count(option, text);
  if (value < static_cast<std::uint64_t>(least) || value > static_cast<std::uint64_t>(most)) {
    throw harness::input_error(option + ": " + text + ": must be " + std::to_string(least) + " to " +
                               std::to_string(most));
  }
  return static_cast<std::int64_t>(value);
}

double parse_number_within(const std::string& option, const std::string& text, double least, double most) {
  double number = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure != std::errc{} || rest != end || !(number >= least && number <= most)) {
    std::ostringstream bounds;
    bounds << least << " to " << most;
    throw harness::input_error(option + ": " + text + ": must be a number from " + bounds.str());
  }
  return number;
}

std::int64_t parse_rank_count(const std::string& option, const std::string& text) {
  const auto number = whole_number(text);
  if (!number || *number < 1 || *number > max_ep_size) {
    throw harness::input_error(option + ": " + text + ": must be an integer from 1 to " + std::to_string(max_ep_size));
  }
  return static_cast<std::int64_t>(*number);
}

std::uint64_t parse_bytes(const std::string& option, const std::string& text) {
  constexpr std::string_view units = "KMGT";
  std::string_view digits = text;
  unsigned shift = 0;
  if (const auto unit = digits.empty() ? std::string_view::npos : units.find(digits.back());
      unit != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    digits.remove_suffix(1);
  }
  const auto number = whole_number(digits);
  if (!number || *number == 0 || *number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    throw harness::input_error(option + ": " + text + ": must be a number of bytes below 2^64, such as 1000000 or 8G");
  }
  return *number << shift;
}

harness::shard parse_shard(const std::string& option, const std::string& text) {
  constexpr std::uint64_t most = 1'000'000;  // more than cases anyone runs
  const auto slash = std::min(text.find('/'), text.size());
  const std::string_view whole = text;
  const auto index = whole_number(whole.substr(0, slash));
  const auto count = slash == text.size() ? std::nullopt : whole_number(whole.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count || *count > most) {
    throw harness::input_error(option + ": " + text + ": must be I/N, two integers with 1 <= I <= N <= 1000000");
  }
  return {static_cast<std::size_t>(*index), static_cast<std::size_t>(*count)};
}

}  // namespace switchyard::tools
