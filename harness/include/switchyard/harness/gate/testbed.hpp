// SPDX-License-Identifier: Apache-2.0
// What two measurements must have in common to be compared: nothing in it changes from one run to the next.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace switchyard::harness::gate {

struct testbed {
  std::string gpu;            ///< model
  int gpus = 0;               ///< one a rank
  std::string links;          ///< of a GPU: "18 x 26562 MB/s"; empty: not read
  std::string driver_branch;  ///< "580" of 580.159.04; empty: not read
  std::string cuda;           ///< version of the runtime, "13.0"
  std::string machine;        ///< of the host: x86_64, aarch64

  bool operator==(const testbed&) const = default;
};

/// All of it as one text: equal keys, comparable times.
std::string key_of(const testbed& bed);
/// What of it is not known although times depend on it: "driver and CUDA version"; empty: nothing. Links are not among
/// it: there are hosts whose driver tells none, and the model of the GPU nearly says them.
std::string unknown_parts(const testbed& bed);
/// The key as a file name: a-z, 0-9 and -.
std::string file_stem_of(const testbed& bed);

nlohmann::ordered_json to_json(const testbed& bed);
/// The inverse. Throws nlohmann::json::exception for what is none.
testbed testbed_from(const nlohmann::json& json);

/// What the header of a bench says of it. Throws nlohmann::json::exception when it lacks what every such header has.
testbed testbed_of_bench(const nlohmann::json& bench_header);

/// Of the environment in a header: "0.1.0, commit 4f2a...", and whether the sources had changes.
std::string build_text(const nlohmann::json& env);

}  // namespace switchyard::harness::gate
