// SPDX-License-Identifier: Apache-2.0
// Numbers in environment variables, and the four that every launcher has.
#include "launch_variables.hpp"

#include <charconv>

#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {
namespace {

void require_below(const char* name, std::uint64_t value, const char* bound_name, std::uint64_t bound) {
  if (value < bound) return;
  refuse_variable(name, std::to_string(value),
                  std::string("must be less than ") + bound_name + ", which is " + std::to_string(bound));
}

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;  // octal to some, decimal to others
  std::uint64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return number;
}

void refuse_variable(const std::string& name, std::string_view value, const std::string& rule) {
  constexpr std::size_t most = 60;  // enough to recognise a value, short enough for one line
  throw input_error(name + ": " + (value.empty() ? std::string("empty") : shortened(value, most)) + ": " + rule);
}

std::optional<std::uint64_t> launch_variable_reader::number(const char* name, std::uint64_t least,
                                                            std::uint64_t most) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  const auto number = whole_number(*value);
  if (!number || *number < least || *number > most) {
    refuse_variable(name, *value, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

std::uint64_t launch_variable_reader::needed(const char* name, std::uint64_t least, std::uint64_t most,
                                             const std::string& because) const {
  const auto value = number(name, least, most);
  if (!value) refuse_variable(name, "not set", because);
  return *value;
}

launched_process read_ranks(const launch_variable_reader& variables, const rank_variables& names,
                            std::optional<std::uint64_t> local_size) {
  const auto beside = [](const char* other) { return std::string("must be set where ") + other + " is"; };
  const auto size = variables.needed(names.size, 1, max_ep_size, beside(names.rank));
  const auto rank = variables.needed(names.rank, 0, UINT32_MAX, beside(names.size));
  require_below(names.rank, rank, names.size, size);

  if (!local_size) local_size = variables.number(names.local_size, 1, UINT32_MAX);
  auto local_rank = variables.number(names.local_rank, 0, UINT32_MAX);
  if (size > 1 && !(local_rank && local_size)) {
    refuse_variable(local_rank ? names.local_size : names.local_rank, "not set",
                    std::string("must be set for a job of ") + std::to_string(size) + " processes, for " +
                        names.local_rank + " says which of the " + names.local_size +
                        " processes of its host this one is");
  }
  if (!local_size) local_size = 1;
  if (!local_rank) local_rank = 0;
  if (*local_size > size) {
    refuse_variable(names.local_size, std::to_string(*local_size),
                    std::string("must be at most ") + names.size + ", which is " + std::to_string(size));
  }
  require_below(names.local_rank, *local_rank, names.local_size, *local_size);

  launched_process process;
  process.rank = static_cast<int>(rank);
  process.size = static_cast<int>(size);
  process.local_rank = static_cast<int>(*local_rank);
  process.local_size = static_cast<int>(*local_size);
  return process;
}

}  // namespace switchyard::harness
