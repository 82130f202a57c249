// SPDX-License-Identifier: Apache-2.0
// The columns of a point beside its headline (round_trips.hpp): the same steps by the transport that the group uses,
// timed in several ways. Each leaves outputs behind that a check can compare.
#pragma once

#include "bench_check.hpp"
#include "device_reader.hpp"

namespace switchyard::harness {

struct column_context {
  bench_group& group;
  const bench_options& options;
  const link_yardstick& link;
  const device_reader& reader;
};

/// Inputs and outputs in as many copies as it takes for none to be in the second-level cache when its turn comes, which
/// is emptied before each launch. Throws wrong_result when a copy of the output is not the fixed output.
void time_cold(const column_context& with, bench_point& point);
void time_eager(const column_context& with, bench_point& point);
/// Clocks between the phases of a graph, clocks of GPUs compared before and after every launch.
void time_phases(const column_context& with, bench_point& point);
/// Events round the phases of eager steps.
void time_streams(const column_context& with, bench_point& point);

}  // namespace switchyard::harness
