// SPDX-License-Identifier: Apache-2.0
// What of a bench is a scenario of the gate, and its id.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace switchyard::harness::gate {

/// What is compared of a point: the headline and both phases. Keys of its record.
inline constexpr std::array bench_phases{"round_trip", "dispatch", "combine"};

/// "bench/deepseek_v3@phase=dispatch,ranks=2,...", keys sorted, as in ids of cases. What the options of the bench are
/// is part of it: other options, another scenario. Of the point's shape, what options named is: the rest is the
/// profile's. `point`: as it is recorded. Throws nlohmann::json::exception for options or a point that lack something.
std::string bench_scenario_id(const nlohmann::json& options, const std::string& phase, const nlohmann::json& point);

}  // namespace switchyard::harness::gate
