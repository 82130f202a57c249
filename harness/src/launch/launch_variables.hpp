// SPDX-License-Identifier: Apache-2.0
// Reads environment variables by rules, and refuses those that break them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "switchyard/harness/launch_environment.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

/// A decimal number below 2^64 without sign or leading zeros.
std::optional<std::uint64_t> whole_number(std::string_view text);

/// Throws input_error "variable: value: rule".
[[noreturn]] void refuse_variable(const std::string& name, std::string_view value, const std::string& rule);

class launch_variable_reader {
 public:
  explicit launch_variable_reader(const variable_lookup& lookup) : lookup_(lookup) {}

  [[nodiscard]] std::optional<std::string> text(const char* name) const { return lookup_(name); }
  [[nodiscard]] bool has(const char* name) const { return lookup_(name).has_value(); }

  /// The one of two names for the same that is set; `first` where neither is.
  [[nodiscard]] const char* either(const char* first, const char* second) const {
    return !has(first) && has(second) ? second : first;
  }

  /// Nothing where it is not set. Throws input_error where it is no number from `least` to `most`.
  [[nodiscard]] std::optional<std::uint64_t> number(const char* name, std::uint64_t least, std::uint64_t most) const;

  /// The same, which must be there: `because` ends the refusal "name: not set: ...".
  [[nodiscard]] std::uint64_t needed(const char* name, std::uint64_t least, std::uint64_t most,
                                     const std::string& because) const;

 private:
  const variable_lookup& lookup_;
};

/// The variables of one launcher.
struct rank_variables {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

/// Rank, size, local rank and local size; the rest is left alone. `local_size`, where given, is what `names.local_size`
/// was found to say.
launched_process read_ranks(const launch_variable_reader& variables, const rank_variables& names,
                            std::optional<std::uint64_t> local_size = std::nullopt);

}  // namespace switchyard::harness
