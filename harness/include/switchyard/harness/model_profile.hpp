// SPDX-License-Identifier: Apache-2.0
// Shapes of published MoE models, by name. They are data (scenarios/profiles.json), not code.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/formats.hpp"

namespace switchyard::harness {

struct model_profile {
  std::int64_t hidden_size = 0;
  std::int64_t top_k = 0;
  std::int64_t num_experts = 0;
  switchyard::dtype dtype = switchyard::dtype::bf16;
  switchyard::dispatch_format dispatch_format = switchyard::dispatch_format::bf16;
};

using model_profiles = std::map<std::string, model_profile, std::less<>>;

/// Reads {"description": text, "profiles": {name: {"hidden_size", "top_k", "num_experts", "dtype",
/// "dispatch_format"}}}; every member is due. Throws input_error as read_suite_file does.
model_profiles read_profiles_file(const std::filesystem::path& path);

/// The same for text already read; `file` stands in messages.
model_profiles parse_profiles(std::string_view text, const std::string& file);

}  // namespace switchyard::harness
