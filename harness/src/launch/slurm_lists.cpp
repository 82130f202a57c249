// SPDX-License-Identifier: Apache-2.0
// Reads Slurm's lists of hosts and of tasks, strictly: what is not understood is not guessed at.
#include "slurm_lists.hpp"

#include "launch_variables.hpp"

namespace switchyard::harness {
namespace {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

constexpr bool is_of_name(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '.' ||
         letter == '_' || letter == '-';
}

/// What is left of a text.
class cursor {
 public:
  explicit cursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  bool take(std::string_view expected) {
    if (rest_.substr(0, expected.size()) != expected) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  template <typename Predicate>
  std::string_view take_while(Predicate&& belongs) {
    std::size_t count = 0;
    while (count < rest_.size() && belongs(rest_[count])) ++count;
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view rest_;
};

bool is_range(std::string_view low, std::string_view high) {
  if (low.size() == high.size()) return low <= high;  // of one length, text and numbers are ordered alike
  return low.size() < high.size() && high.front() != '0';
}

/// The first number of ranges, up to and with the bracket that ends them.
std::optional<std::string_view> take_ranges(cursor& list) {
  std::optional<std::string_view> first;
  do {
    const auto low = list.take_while(is_digit);
    if (low.empty()) return std::nullopt;
    if (list.take("-")) {
      const auto high = list.take_while(is_digit);
      if (high.empty() || !is_range(low, high)) return std::nullopt;
    }
    if (!first) first = low;
  } while (list.take(","));
  return list.take("]") ? first : std::nullopt;
}

/// The first host that a name stands for.
std::optional<std::string> take_name(cursor& list) {
  std::string host;
  while (true) {
    const auto text = list.take_while(is_of_name);
    host += text;
    if (list.take("[")) {
      const auto number = take_ranges(list);
      if (!number) return std::nullopt;
      host += *number;
    } else if (text.empty()) {
      break;
    }
  }
  return host.empty() ? std::nullopt : std::optional(host);
}

}  // namespace

std::optional<std::string> first_slurm_host(std::string_view list) {
  cursor rest(list);
  std::optional<std::string> first;
  do {
    const auto host = take_name(rest);
    if (!host) return std::nullopt;
    if (!first) first = host;
  } while (rest.take(","));
  return rest.at_end() ? first : std::nullopt;
}

std::optional<std::vector<std::uint64_t>> slurm_tasks_per_node(std::string_view list, std::uint64_t most) {
  cursor rest(list);
  std::vector<std::uint64_t> counts;
  std::uint64_t left = most;
  do {
    const auto count = whole_number(rest.take_while(is_digit));
    std::optional<std::uint64_t> nodes = 1;
    if (rest.take("(x")) {
      nodes = whole_number(rest.take_while(is_digit));
      if (!rest.take(")")) return std::nullopt;
    }
    if (!count || !nodes || *count == 0 || *nodes == 0 || *nodes > left / *count) return std::nullopt;
    left -= *nodes * *count;
    counts.insert(counts.end(), static_cast<std::size_t>(*nodes), *count);
  } while (rest.take(","));
  return rest.at_end() ? std::optional(counts) : std::nullopt;
}

}  // namespace switchyard::harness
