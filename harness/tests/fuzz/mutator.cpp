// SPDX-License-Identifier: Apache-2.0
// How texts are spoiled.
#include "mutator.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace switchyard::harness::fuzz {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_bytes = std::size_t{1} << 16;  // longer texts show nothing new and cost time

// Numbers as text, because a tree of JSON cannot hold all of them.
constexpr std::array<std::string_view, 14> hard_numbers{"1e400",
                                                        "-1e400",
                                                        "1e-400",
                                                        "-0",
                                                        "01",
                                                        "1.0",
                                                        "9223372036854775807",
                                                        "9223372036854775808",
                                                        "-9223372036854775809",
                                                        "18446744073709551616",
                                                        "123456789012345678901234567890",
                                                        "0x10",
                                                        "NaN",
                                                        "2147483648"};
// Ill-formed UTF-8 (lone, overlong, surrogate, too large, cut short), marks that turn the direction of a line,
// controls.
constexpr std::array<std::string_view, 14> hard_bytes{
    "\xFF",     "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\xEF\xBB\xBF", "\xE2\x80\xAE", "\x7F",
    "\x1B[31m", "\r",       "\n",           "\\u0000",          "\\ud800",  "\xC2\x85"};
constexpr std::array<std::string_view, 12> hard_tokens{"{",  "}",    "[",  "]",  ":",     ",",
                                                       "\"", "null", "{}", "[]", "\"\":", "//"};

template <typename Container>
const auto& any_of(const Container& from, counter_random& random) {
  return from[static_cast<std::size_t>(random.below(from.size()))];
}

std::size_t any_place(const std::string& text, counter_random& random) {
  return static_cast<std::size_t>(random.below(text.size() + 1));
}

/// A short stretch of `text`: most of what is interesting is a word or a few.
std::pair<std::size_t, std::size_t> any_range(const std::string& text, counter_random& random) {
  const auto begin = any_place(text, random);
  const auto most = std::min<std::size_t>(text.size() - begin, random.chance(1, 8) ? text.size() : 24);
  return {begin, static_cast<std::size_t>(random.below(most + 1))};
}

void collect(json& node, std::vector<json*>& into) {
  into.push_back(&node);
  if (node.is_structured()) {
    for (auto& inner : node) collect(inner, into);
  }
}

json* any_node(json& root, counter_random& random) {
  std::vector<json*> nodes;
  collect(root, nodes);
  return any_of(nodes, random);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += line;
  return text;
}

}  // namespace

mutator::mutator(text_form form, std::vector<std::string> seeds, std::vector<std::string> words)
    : form_(form), seeds_(std::move(seeds)), words_(std::move(words)) {
  if (form_ == text_form::plain) return;
  for (const auto& seed : seeds_) {
    if (form_ == text_form::document) {
      trees_.push_back(json::parse(seed));
    } else {
      for (const auto line : lines_of(seed)) trees_.push_back(json::parse(line));
    }
  }
}

std::string mutator::make(std::uint64_t seed, std::uint64_t number) const {
  counter_random random(key_of({seed, number, 0x66757A7AULL}));
  auto text = any_seed(random);
  const bool as_json = form_ != text_form::plain && random.chance(2, 3);
  if (as_json) {
    text = spoil_json(text, random);
    if (random.chance(3, 4)) return text;  // bytes spoiled too would hide what the rules say
  }
  for (auto times = 1 + random.below(4); times > 0; --times) {
    if (form_ == text_form::lines && random.chance(1, 3)) {
      spoil_lines(text, random);
    } else {
      spoil_bytes(text, random);
    }
  }
  if (text.size() > most_bytes) text.resize(most_bytes);
  return text;
}

const std::string& mutator::any_seed(counter_random& random) const { return any_of(seeds_, random); }

std::string mutator::any_word(counter_random& random) const {
  switch (random.below(8)) {
    case 0: return {};
    case 1: return std::string(any_of(hard_bytes, random).substr(0, 1)) + "x";  // maybe ill-formed: dumped as U+FFFD
    case 2: return std::string("a\nb\x01\x7F") + "\xE2\x80\xAE";
    case 3: return std::string(static_cast<std::size_t>(1) << random.below(13), 'w');
    case 4: return "~/" + any_of(words_, random);
    default: return any_of(words_, random);
  }
}

mutator::json mutator::any_value(counter_random& random) const {
  switch (random.below(12)) {
    case 0: return nullptr;
    case 1: return random.chance(1, 2);
    case 2: return json::object();
    case 3: return json::array();
    case 4: return 0.5;
    case 5: return -1;
    case 6: return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random.below(2));
    case 7: return std::numeric_limits<std::uint64_t>::max();
    case 8: return json{{any_word(random), static_cast<std::int64_t>(random.below(300))}};
    case 9: return json::array({static_cast<std::int64_t>(random.below(40)), any_word(random)});
    case 10: return static_cast<std::int64_t>(random.next() >> random.below(64));
    default: return any_word(random);
  }
}

/// Adds, removes, doubles, moves and renames what is inside of an array or object.
void mutator::spoil_members(json& node, counter_random& random) const {
  const auto place = static_cast<std::size_t>(random.below(node.size() + 1));
  if (node.is_array()) {
    const auto at = node.begin() + static_cast<std::ptrdiff_t>(std::min(place, node.empty() ? 0 : node.size() - 1));
    switch (random.below(4)) {
      case 0:
        if (!node.empty()) node.erase(at);
        break;
      case 1:
        if (!node.empty()) node.push_back(json(*at));
        break;
      case 2:
        if (!node.empty()) std::swap(node.front(), *at);
        break;
      default: node.push_back(any_value(random));
    }
    return;
  }
  auto& members = node.get_ref<json::object_t&>();
  const auto at = members.begin() + static_cast<std::ptrdiff_t>(std::min(place, node.empty() ? 0 : node.size() - 1));
  switch (random.below(4)) {
    case 0:
      if (!members.empty()) members.erase(at);
      break;
    case 1:  // another name
      if (!members.empty()) {
        auto value = at->second;
        members.erase(at);
        node[any_word(random)] = std::move(value);
      }
      break;
    case 2:
      if (!members.empty()) node[members.front().first] = json(at->second);
      break;
    default: node[any_word(random)] = any_value(random);
  }
}

void mutator::spoil_tree(json& root, counter_random& random) const {
  auto& node = *any_node(root, random);
  if (node.is_structured() && random.chance(3, 4)) {
    spoil_members(node, random);
  } else if (node.is_number_integer() && random.chance(2, 3)) {
    const auto number = node.get<std::int64_t>();
    const auto bits = static_cast<std::uint64_t>(number);  // wraps at the ends, as it may
    const std::array<std::uint64_t, 6> others{bits + 1, bits - 1, bits * 2, bits / 2, ~bits + 1, random.below(64)};
    node = static_cast<std::int64_t>(any_of(others, random));
  } else if (random.chance(1, 3)) {  // a piece of something else
    auto other = any_of(trees_, random);
    node = json(*any_node(other, random));
  } else if (random.chance(1, 2)) {  // a piece of this, maybe of itself
    const json copy(*any_node(root, random));
    node = copy;
  } else {
    node = any_value(random);
  }
}

std::string mutator::spoil_json(const std::string& text, counter_random& random) const {
  auto lines = std::vector<std::string>{text};
  std::size_t at = 0;
  if (form_ == text_form::lines) {
    lines.clear();
    for (const auto line : lines_of(text)) lines.emplace_back(line);
    at = static_cast<std::size_t>(random.below(lines.size()));
  }
  auto tree = json::parse(lines[at]);
  for (auto times = 1 + random.below(3); times > 0; --times) spoil_tree(tree, random);
  lines[at] = tree.dump(-1, ' ', false, json::error_handler_t::replace);
  if (form_ == text_form::lines) lines[at] += '\n';
  return joined(lines);
}

void mutator::spoil_lines(std::string& text, counter_random& random) const {
  std::vector<std::string> lines;
  for (const auto line : lines_of(text)) lines.emplace_back(line);
  if (lines.empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(random.below(lines.size()));
  switch (random.below(4)) {
    case 0: lines.erase(lines.begin() + at); break;
    case 1: lines.push_back(lines[static_cast<std::size_t>(at)]); break;
    case 2: std::swap(lines.front(), lines[static_cast<std::size_t>(at)]); break;
    default: lines.insert(lines.begin() + at, any_of(trees_, random).dump() + '\n');
  }
  text = joined(lines);
}

void mutator::spoil_bytes(std::string& text, counter_random& random) const {
  const auto place = any_place(text, random);
  const auto [begin, length] = any_range(text, random);
  switch (random.below(12)) {
    case 0:
      if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << random.below(8)));
      break;
    case 1:
      if (place < text.size()) text[place] = static_cast<char>(random.below(256));
      break;
    case 2: text.erase(begin, length); break;
    case 3: text.insert(place, text.substr(begin, length)); break;
    case 4: text.insert(place, any_of(hard_tokens, random)); break;
    case 5: text.insert(place, any_of(hard_bytes, random)); break;
    case 6: text.insert(place, any_of(words_, random)); break;
    case 7: text.resize(place); break;
    case 8: {  // another number where one stands
      const auto digit = text.find_first_of("0123456789", place);
      if (digit == std::string::npos) break;
      const auto end = std::min(text.find_first_not_of("0123456789", digit), text.size());
      text.replace(digit, end - digit, any_of(hard_numbers, random));
      break;
    }
    case 9: {  // a key twice
      const auto quote = text.find('"', place);
      const auto colon = quote == std::string::npos ? quote : text.find("\":", quote + 1);
      if (colon != std::string::npos) text.insert(quote, text.substr(quote, colon + 2 - quote) + "1,");
      break;
    }
    case 10: {  // nested without end
      constexpr std::array<std::string_view, 2> openings{"[", "{\"a\":"};
      const auto opening = any_of(openings, random);
      std::string deep;
      for (auto levels = std::uint64_t{1} << random.below(13); levels > 0; --levels) deep += opening;
      text.insert(place, deep);
      break;
    }
    default: {  // a stretch of another text
      const auto& other = any_seed(random);
      const auto [from, bytes] = any_range(other, random);
      text.replace(begin, length, other.substr(from, bytes));
    }
  }
}

}  // namespace switchyard::harness::fuzz
