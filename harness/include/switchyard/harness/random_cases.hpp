// SPDX-License-Identifier: Apache-2.0
// Cases that nobody thought of: every field of the table drawn at random, hard corners more often than chance.
//
// A draw is a pure function of (seed, number, limits) and obeys all rules by construction. Everything that is drawn
// stands in the case id, random/drawn@blocks=2,..., so that the id and the seed of the run repeat the case without any
// file. Fields that a draw leaves alone have their defaults.
//
// Never drawn: profile, whose shapes are too large for a case of some milliseconds, and trace, which needs a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// What drawn cases keep within. The defaults make a case of some ten milliseconds on two cores.
struct random_limits {
  std::int64_t max_ranks = 16;
  std::int64_t max_experts = 512;
  std::int64_t max_top_k = 32;
  std::int64_t max_hidden = 4096;
  std::int64_t max_tokens = 512;  ///< capacity of a rank
  std::int64_t max_steps = 40;
  std::int64_t max_extra_bytes = 256;
  std::int64_t max_threads = 48;                       ///< ranks times workers
  std::int64_t max_late_us = 2'000;                    ///< of one phase; all phases of a case together 20 times that
  std::size_t max_bytes = std::size_t{64} << 20;       ///< required_bytes of a case
  std::size_t max_work_bytes = std::size_t{16} << 20;  ///< about what all steps of a case write and compare
  std::int64_t faults_per_mille = 30;                  ///< share of cases in which a fault is due
};

inline constexpr std::string_view random_suite_name = "random";
inline constexpr std::string_view random_scenario_name = "drawn";

/// The suite that drawn cases belong to: one scenario that sets nothing, so that a case id sets it all.
suite random_suite();

/// Case `number` of `seed`. Throws input_error when no case fits the limits.
field_settings draw_settings(std::uint64_t seed, std::uint64_t number, const random_limits& limits = {});
case_spec draw_case(std::uint64_t seed, std::uint64_t number, const random_limits& limits = {});

/// Cases 0 .. count - 1 of `seed`. Two draws may be equal when the limits leave little to draw.
std::vector<case_spec> draw_cases(std::uint64_t seed, std::uint64_t count, const random_limits& limits = {});

/// The case of random_suite() with these settings, and its id. Throws input_error when they break a rule.
case_spec random_case_of(const field_settings& settings);

/// The settings that the id of such a case tells. Throws input_error for the id of another case.
field_settings random_settings_of(const std::string& id);

}  // namespace switchyard::harness
