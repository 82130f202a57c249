// SPDX-License-Identifier: Apache-2.0
// What was measured of one build on one testbed: a time per scenario and launch. Read from any of
//
//   samples   {"record":"samples_header", "schema":1, "started", "env", "testbed", "launches", "bench"}
//             {"record":"sample", "scenario":ID, "launch":0.., "time_us", "marked"}
//             {"record":"launch_failed", "launch", "why"}
//             {"record":"noise", "scenario":ID, "launches", "median_us", "shift_us", "splits_us", "interval_us",
//             "noise_us",
//              "noise_percent"}
//             {"record":"samples_end", "samples", "failed_launches"}     nothing follows; without it the file is cut
//   a bench   as `switchyard bench --out` writes it: one launch
//   a run     as `switchyard run` writes it: statuses, no times
//   a folder  of files of one of these kinds, *.jsonl in the order of their names: launches are counted on
//
// Whatever contradicts itself, is cut short, empty or of another schema is refused with input_error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/harness/gate/testbed.hpp"

namespace switchyard::harness::gate {

inline constexpr int samples_schema = 1;

/// One scenario.
struct sample_series {
  std::string id;
  std::vector<double> time_us;  ///< in the order of launches
  std::vector<int> launches;    ///< whose these are
  std::size_t marked = 0;       ///< launches during which clocks, throttling or errors moved
  std::string status;           ///< of a case of a run; empty: times
};

struct sample_set {
  std::string source;  ///< where it was read
  testbed bed;
  std::string build;  ///< version and commit, with a mark when the sources had changes
  bool clean = true;  ///< the sources are known to have had none
  int launches = 0;
  std::vector<sample_series> series;  ///< by id
  std::map<std::string, double> noise_us;
  std::vector<std::string> failures;  ///< of launches

  [[nodiscard]] const sample_series* find(const std::string& id) const;
  [[nodiscard]] bool has_times() const;
};

/// Throws input_error.
sample_set read_samples(const std::filesystem::path& path);

/// Adds the noise that a file of A/A launches tells; the larger one stays. Throws input_error when it tells none, or is
/// of another testbed.
void add_noise(sample_set& to, const std::filesystem::path& file);

}  // namespace switchyard::harness::gate
