// SPDX-License-Identifier: Apache-2.0
// Runs cases as the program does, and keeps what it would print and write.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "switchyard/harness/progress.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/suite_runner.hpp"

namespace switchyard::harness {

/// A sink that keeps what is written.
class kept_sink final : public record_sink {
 public:
  explicit kept_sink(std::string& text) : text_(text) {}
  std::ptrdiff_t append(std::string_view bytes) override {
    text_ += bytes;
    return static_cast<std::ptrdiff_t>(bytes.size());
  }
  int truncate(std::uint64_t length_bytes) override {
    text_.resize(length_bytes);
    return 0;
  }

 private:
  std::string& text_;
};

struct recorded_run {
  std::string shown;  ///< to a person
  std::string lines;  ///< of the records
  exit_code code = exit_code::internal_error;
};

inline recorded_run record_run(const std::vector<case_spec>& cases, const case_runner& run, std::uint64_t seed) {
  recorded_run result;
  record_writer records(std::make_unique<kept_sink>(result.lines));
  std::ostringstream out;
  progress shown(out, {});
  suite_run_options options;
  options.seed = seed;
  result.code = run_cases(cases, run, records, shown, options).code();
  result.shown = out.str();
  return result;
}

/// Leaves whole records, header first, in the folder of temporary files of tests: tools/tests/test_records.py holds
/// them against the schema.
inline void leave_records(const std::string& name, std::size_t cases, std::uint64_t seed, const std::string& lines) {
  const auto header = header_json(read_environment(), {"2026-11-29T16:46:08Z", seed, cases, {"test"}});
  std::ofstream(std::filesystem::path(testing::TempDir()) / name) << record_line(header) << '\n' << lines;
}

}  // namespace switchyard::harness
