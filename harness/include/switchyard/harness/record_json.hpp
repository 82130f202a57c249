// SPDX-License-Identifier: Apache-2.0
// The JSON of a run's records.
//
//   {"record":"header", "schema":1, "env":{...}, "run":{...}}       first line
//   {"record":"case", "id":..., "status":..., ..., "time":{...}}    one line per case
//   {"record":"summary", ...}                                       the file beside it
//   {"record":"error", "message":...}                               only in the stream of `run --json`
//
// results/schema/record.schema.json says all of it, key by key.
//
// Same seed, same bytes: a case object without the keys env, time and run depends on the case and the seed alone.
// Everything that depends on timing stands under "time", also of a fault all but its code and field. Only a case that
// fails by its timing (a fault that was not due) has findings that another run may not have.
// 64-bit patterns are texts in hexadecimal, because many readers of JSON hold numbers as doubles.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/shard.hpp"
#include "switchyard/harness/suite_selection.hpp"
#include "switchyard/stream.hpp"

namespace switchyard::harness {

inline constexpr int record_schema = 1;

/// Where the ranks of a run are.
struct fabric_description {
  fabric_kind kind = fabric_kind::host;
  std::vector<std::string> gpus = {};  ///< names, by ordinal
  std::string driver = {};             ///< of the GPUs
};

/// The word used in options and records.
std::string_view to_string(fabric_kind kind) noexcept;
/// What times of a run on it mean.
std::string_view times_note(fabric_kind kind) noexcept;
/// One line for people: "cuda, 2 x NVIDIA H200, driver 580.95.05".
std::string description_text(const fabric_description& fabric);

/// What the header says about the run itself.
struct run_description {
  std::string started;  ///< UTC, ISO 8601
  std::uint64_t seed = 1;
  std::size_t cases = 0;               ///< how many lines ought to follow
  std::vector<std::string> arguments;  ///< of the program, without its name
  case_selection selection = {};       ///< which cases were asked for
  std::optional<shard> part = {};      ///< none: all of them
  std::uint64_t cases_digest = 0;      ///< cases_digest() of the cases due
  fabric_description fabric = {};
  /// Of ranks that are processes: how they came to be, "mode", and what each sees, "ranks"; null where they are
  /// threads.
  nlohmann::ordered_json launch = {};
};

nlohmann::ordered_json header_json(const environment& where, const run_description& run);

nlohmann::ordered_json case_json(const case_spec& spec, const case_result& result, std::uint64_t seed,
                                 std::chrono::nanoseconds elapsed);

/// Every member of a case but its name and tags, defaults included, by the names of the scenario fields.
nlohmann::ordered_json spec_json(const case_spec& spec);

/// What went wrong outside a case; `code` is the program's exit code when that is known already.
nlohmann::ordered_json error_json(const std::string& message, std::optional<int> code);

/// One line without its newline. Bytes that are not UTF-8 become U+FFFD; there are no tokens for NaN or infinity.
std::string record_line(const nlohmann::ordered_json& record);

/// The moment as 2026-11-29T16:46:08Z.
std::string utc_text(std::chrono::system_clock::time_point moment);

}  // namespace switchyard::harness
