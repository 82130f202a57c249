// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "switchyard/harness/gate/exports.hpp"

namespace switchyard::harness::gate {

std::string google_benchmark_of(const sample_set& samples) {
  using json = nlohmann::ordered_json;
  json out;
  // What its readers ask for; no host name, and what is not known is left out.
  out["context"] = {{"executable", "switchyard"},
                    {"library_build_type", "release"},
                    {"switchyard_build", samples.build},
                    {"switchyard_testbed", key_of(samples.bed)}};
  auto& all = out["benchmarks"] = json::array();
  for (std::size_t family = 0; family < samples.series.size(); ++family) {
    const auto& series = samples.series[family];
    for (std::size_t i = 0; i < series.time_us.size(); ++i) {
      all.push_back({{"name", series.id},
                     {"family_index", family},
                     {"per_family_instance_index", 0},
                     {"run_name", series.id},
                     {"run_type", "iteration"},
                     {"repetitions", series.time_us.size()},
                     {"repetition_index", i},
                     {"threads", 1},
                     {"iterations", 1},
                     {"real_time", series.time_us[i]},
                     {"cpu_time", series.time_us[i]},  // its script compares both; a GPU's step has one time
                     {"time_unit", "us"}});
    }
  }
  constexpr int indent = 1;
  return out.dump(indent) + '\n';
}

}  // namespace switchyard::harness::gate
