// SPDX-License-Identifier: Apache-2.0
#include "plain_sample.hpp"

#include <algorithm>
#include <charconv>

namespace switchyard::harness::gate {
namespace {

bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& rest, Number& number) {
  // A sign, inf and nan are left to the parser, which refuses what is none.
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') return false;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (failure != std::errc{}) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

}  // namespace

std::optional<plain_sample> plain_sample_in(std::string_view line) {
  plain_sample one;
  if (!take(line, R"({"record":"sample","scenario":")")) return std::nullopt;
  const auto end = line.find('"');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  one.scenario = line.substr(0, end);
  const auto is_plain = [](char letter) { return letter >= ' ' && letter < '\x7f' && letter != '\\'; };
  if (!std::ranges::all_of(one.scenario, is_plain)) return std::nullopt;
  line.remove_prefix(end);
  const bool whole = take(line, R"(","launch":)") && take_number(line, one.launch) && take(line, R"(,"time_us":)") &&
                     take_number(line, one.time_us) && take(line, R"(,"marked":)") && take_number(line, one.marked) &&
                     line == "}";
  return whole ? std::optional(one) : std::nullopt;
}

}  // namespace switchyard::harness::gate
