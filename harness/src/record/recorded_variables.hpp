// SPDX-License-Identifier: Apache-2.0
// Variables of the process environment that can change what is measured, and no others: an environment holds names, and
// worse.
#pragma once

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "switchyard/harness/printable.hpp"

namespace switchyard::harness {

inline constexpr std::array recorded_variables{"CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_ORDER",
                                               "CUDA_LAUNCH_BLOCKING",        "CUDA_MODULE_LOADING",
                                               "CUDA_VISIBLE_DEVICES",        "SWITCHYARD_REQUIRE_GPUS"};

/// Those that are set, by name.
inline nlohmann::ordered_json variables_json() {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  for (const auto* name : recorded_variables) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets them by now
    if (value != nullptr) result[name] = printable(value);
  }
  return result;
}

}  // namespace switchyard::harness
