// SPDX-License-Identifier: Apache-2.0
// What of a bench is a scenario of the gate, and its id.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace switchyard::harness::gate {

/// What is compared of a point: the headline and both phases. Keys of its record.
inline constexpr std::array bench_phases{"round_trip", "dispatch", "combine"};

/// "bench/deepseek_v3@phase=dispatch,ranks=2,...", keys sorted, as in ids of cases. What the options of the bench are
/// is part of it: other options, another scenario. Throws nlohmann::json::exception for options that lack one.
std::string bench_scenario_id(const nlohmann::json& options, const std::string& phase, std::int64_t tokens,
                              const std::string& transport);

}  // namespace switchyard::harness::gate
