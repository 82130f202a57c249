// SPDX-License-Identifier: Apache-2.0
// A bench as JSON lines and as tables. results/schema/bench.schema.json says what each line holds.
//
//   {"record":"bench_header", "schema":6, "env":{...}, "machine":{...}, "testbed":{...},
//    "variables":{...}, "arguments":[...], "options":{...}}
//   {"record":"bench_link", ...}            the yardstick that floors are made of
//   {"record":"bench_point", ...}           one per point and transport: round trip and phases
//   {"record":"bench_nccl_library", ...}    which NCCL was measured, or why none was
//   {"record":"bench_nccl", ...}            one per point, scheme and variant, with its samples
//   {"record":"bench_nccl_best", ...}       one per point: the fastest variants whose result is right
//   {"record":"bench_repeat", ...}          of a repeated bench, and no other of the above: one per point and transport
//   {"record":"bench_crossover", ...}       where lamport and fence were both measured
//   {"record":"bench_auto_check", ...}      where auto was measured beside them
//   {"record":"bench_grid", ...}            where points were slower than NCCL, and whether times of formats follow
//   bytes
//   {"record":"bench_tune", ...}            of `tune`, behind the header and the link: what to set, and why
//
// Every number's key ends in its unit. Raw samples stand beside what was made of them. What was not measured is null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/harness/bench_run.hpp"
#include "switchyard/harness/bench_yardstick.hpp"
#include "switchyard/harness/environment.hpp"

namespace switchyard::harness {

inline constexpr int bench_schema = 6;

/// What is said of a point: made of its samples and the link.
struct bench_figures {
  double round_trip_us = 0;  ///< median over launches of (graph time / steps), max over ranks in each launch
  double round_trip_floor_us = 0;
  double round_trip_of_floor = 0;
  double cold_us = 0;      ///< as the headline
  double eager_us = 0;     ///< as the headline
  double dispatch_us = 0;  ///< median over steps of kernel_us, see phase_times
  double dispatch_floor_us = 0;
  double combine_us = 0;
  double combine_floor_us = 0;
  /// Remote bytes of both phases over the round trip, null without any.
  std::optional<double> wire_bw_gb_s;
  std::optional<double> of_link;
};
bench_figures figures_of(const bench_point& point, const link_yardstick& link);

/// Rates that other tools print and that count bytes which cross no link: only on request, by their names.
struct extra_rates {
  bool logical = false;    ///< unique_bytes / time
  bool selection = false;  ///< selection_bytes / time
};

nlohmann::ordered_json bench_header_json(const environment& where, const bench_machine& machine,
                                         const bench_options& options, const std::string& started);
nlohmann::ordered_json to_json(const link_yardstick& link);
nlohmann::ordered_json to_json(const bench_point& point, const link_yardstick& link, const extra_rates& rates);
nlohmann::ordered_json to_json(const device_state& state);

/// Lines of the yardsticks; the readers give nothing for any other line, nor for one that is not whole.
nlohmann::ordered_json to_json(const nccl_library& library);
nlohmann::ordered_json to_json(const nccl_measurement& one);
std::optional<nccl_library> nccl_library_from(const nlohmann::json& record);
std::optional<nccl_measurement> nccl_measurement_from(const nlohmann::json& record);
/// The fastest that passed, at one point.
nlohmann::ordered_json nccl_best_json(const std::vector<nccl_measurement>& measured, const bench_shape& shape,
                                      std::int64_t tokens);

/// A Markdown table, one row per point and transport; names carry units. The shape stands above it where all points
/// have the same, else in its first column; so in the other tables.
std::string bench_table(const std::vector<bench_point>& points, const link_yardstick& link, const extra_rates& rates);

/// The same for the yardsticks: the fastest variants, or why there are none.
std::string nccl_table(const std::vector<bench_point>& points, const link_yardstick& link, const nccl_library& library,
                       const std::vector<nccl_measurement>& measured);

}  // namespace switchyard::harness
