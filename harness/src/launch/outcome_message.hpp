// SPDX-License-Identifier: Apache-2.0
// What a rank has found, as a message and back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "../run/rank_outcome.hpp"

namespace switchyard::harness {

/// All of it but `done`.
nlohmann::json outcome_json(const rank_outcome& outcome);
nlohmann::json traffic_json(const std::vector<step_traffic>& traffic);

/// Precondition: `into` is as it was made. Throws nlohmann::json::exception, or std::runtime_error for bytes of another
/// size, where the message is none of outcome_json() of this build.
void read_outcome(const nlohmann::json& message, rank_outcome& into);
std::vector<step_traffic> read_traffic(const nlohmann::json& message);

}  // namespace switchyard::harness
