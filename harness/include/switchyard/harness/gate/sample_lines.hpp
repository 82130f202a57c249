// SPDX-License-Identifier: Apache-2.0
// The lines of a file of samples; sample_set.hpp says what they hold.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/gate/noise.hpp"
#include "switchyard/harness/gate/testbed.hpp"

namespace switchyard::harness::gate {

/// `bench_header` is that of a launch, as the measured build wrote it: environment and testbed are its own.
nlohmann::ordered_json samples_header_json(const nlohmann::json& bench_header, int launches,
                                           const std::string& started);

struct sample_line {
  std::string scenario;
  int launch = 0;
  double time_us = 0;
  std::size_t marked = 0;  ///< launches of the graph during which something moved
};
nlohmann::ordered_json to_json(const sample_line& sample);
nlohmann::ordered_json launch_failed_json(int launch, const std::string& why);
nlohmann::ordered_json noise_json(const std::string& scenario, std::size_t launches, const aa_noise& noise);
nlohmann::ordered_json samples_end_json(std::size_t samples, std::size_t failed_launches);

/// The samples in a line that a bench wrote: three of a point, none of anything else, nor of a line that is not whole.
/// `options` are those of the bench's header.
std::vector<sample_line> samples_in(const nlohmann::json& bench_line, const nlohmann::json& options, int launch);

}  // namespace switchyard::harness::gate
