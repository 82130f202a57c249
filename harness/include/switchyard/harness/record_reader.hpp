// SPDX-License-Identifier: Apache-2.0
// Reads records back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::harness {

struct run_records {
  nlohmann::json header;
  std::vector<nlohmann::json> cases;
  std::vector<std::string> lines;  ///< all whole lines as they stand there: of the header, then of the cases
  std::size_t torn_lines = 0;      ///< 1 when the last line has no newline; it is dropped
  std::size_t missing_cases = 0;   ///< announced by the header and not there
  std::uint64_t whole_bytes = 0;   ///< up to the end of the last whole line
};

inline constexpr std::uint64_t max_records_bytes = std::uint64_t{1} << 32;  ///< of a file that is read whole

/// Throws input_error for a file that is no records: no header, another schema, a line in the middle that is no case.
run_records read_records_file(const std::filesystem::path& path);

/// The same for text already read; `file` stands in messages.
run_records parse_records(std::string_view text, const std::string& file);

}  // namespace switchyard::harness
