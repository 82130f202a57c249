// SPDX-License-Identifier: Apache-2.0
// What the program's exit code says about a run, decided in one place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "switchyard/harness/case_result.hpp"

namespace switchyard::harness {

enum class exit_code : int {
  all_passed = 0,      ///< every case passed; skipped and waived ones are named
  regressed = 1,       ///< correct, but slower than the baseline
  failed = 2,          ///< a case failed, crashed, timed out, lost its device or is missing
  environment = 3,     ///< something required is absent, or nothing passed at all
  inconclusive = 4,    ///< too noisy or too few launches for a verdict on performance
  bad_input = 5,       ///< usage or input error, found before the first case
  internal_error = 6,  ///< the program itself is wrong
};

inline constexpr std::size_t num_case_statuses = 8;

/// What a run came to. Precedence of several: internal_error > failed > environment > regressed > inconclusive.
struct run_outcome {
  std::array<std::size_t, num_case_statuses> cases{};  ///< how many, by case_status
  bool internal_error = false;
  bool environment_lacking = false;  ///< a required GPU, for example
  bool regressed = false;
  bool inconclusive = false;
  std::size_t shortfalls = 0;  ///< of lists of cases that must pass
  bool empty_shard = false;    ///< no case was dealt to this shard, so that none could pass

  [[nodiscard]] std::size_t count(case_status status) const noexcept { return cases[static_cast<std::size_t>(status)]; }
  std::size_t& count(case_status status) noexcept { return cases[static_cast<std::size_t>(status)]; }
};

/// Never bad_input: such a run has no outcome.
exit_code exit_code_of(const run_outcome& outcome) noexcept;

/// The name of the enumerator.
std::string_view to_string(exit_code code) noexcept;

/// One line for people.
std::string_view meaning(exit_code code) noexcept;

}  // namespace switchyard::harness
