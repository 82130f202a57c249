// SPDX-License-Identifier: Apache-2.0
// A process per value of NCCL_GRAPH_MIXING_SUPPORT, its output read line by line.
#include <nlohmann/json.hpp>

#include "../child_lines.hpp"
#include "nccl_environment.hpp"
#include "switchyard/harness/bench_nccl.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {

nccl_library collect_nccl_yardsticks(const std::vector<std::string>& command, std::chrono::seconds patience,
                                     nccl_observer& observer) {
  nccl_library library;
  library.environment = nccl_environment();
  library.why_not = "no process of the yardsticks said anything";
  for (const int graph_mixing : {1, 0}) {
    bool told = false;
    const auto variable = "NCCL_GRAPH_MIXING_SUPPORT=" + std::to_string(graph_mixing);
    const auto end = read_child_lines(command, variable, patience, [&](const std::string& line) {
      const auto record = nlohmann::json::parse(line, nullptr, false);
      if (const auto used = nccl_library_from(record)) {
        if (library.version.empty()) library = *used;
        // What is common to both runs: each has a value of its own.
        std::erase_if(library.environment,
                      [](const auto& one) { return one.starts_with("NCCL_GRAPH_MIXING_SUPPORT="); });
        told = true;
      } else if (const auto one = nccl_measurement_from(record)) {
        observer.measured(*one);
      }
    });
    if (!end.empty()) {
      library.why_not = variable + ": " + end;
      observer.note("NCCL yardsticks with " + library.why_not);
    }
    if (told && library.version.empty()) break;  // another process would not find it either
  }
  observer.nccl_found(library);
  return library;
}

}  // namespace switchyard::harness
