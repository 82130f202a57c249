// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON text: UTF-8 only, no duplicate keys, errors with line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

inline constexpr std::size_t max_json_file_bytes = std::size_t{16} << 20;  ///< scenario files are kilobytes

/// The bytes of a regular file of at most `max_bytes`. Throws input_error naming the file.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes = max_json_file_bytes);

/// Throws input_error naming the file and the place.
nlohmann::json parse_json_text(std::string_view text, const std::string& file);

/// The same for one line of a file of JSON lines; `place` is the file and the line.
nlohmann::json parse_json_line(std::string_view line, const std::string& place);

/// One line of JSON for a message.
std::string one_line(const nlohmann::json& value);

}  // namespace switchyard::harness
