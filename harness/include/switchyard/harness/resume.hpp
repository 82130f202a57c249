// SPDX-License-Identifier: Apache-2.0
// Going on with the records of a run that was cut short.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/recorded_case.hpp"

namespace switchyard::harness {

struct resumed_run {
  record_files files;                         ///< open, and cut to its whole lines
  std::uint64_t length_bytes = 0;             ///< of the records
  std::string header_line;                    ///< as the first run wrote it
  std::map<std::string, recorded_case> done;  ///< by id
  std::size_t torn_lines = 0;                 ///< cut off: 0 or 1
};

/// Opens `records` for a run whose own header would be `header` and whose cases are `cases`. What both headers say of
/// the seed, the fabric, the selection, the shard, the cases and the environment must be equal: the header speaks for
/// every line of the file. Nothing of the file changes when it is refused. Throws input_error.
resumed_run resume_records(const std::filesystem::path& records, const nlohmann::ordered_json& header,
                           const std::vector<case_spec>& cases);

}  // namespace switchyard::harness
