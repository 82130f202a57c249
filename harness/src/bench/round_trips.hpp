// SPDX-License-Identifier: Apache-2.0
// The headline of a point: graphs of whole steps in every way, whose launches take turns.
#pragma once

#include "step_graphs.hpp"

namespace switchyard::harness {

class round_trips {
 public:
  /// Records the steps of every way.
  round_trips(const column_context& with, std::int64_t tokens);

  /// Fills what points hold of the headline; points[i] is of the group's way i. Readings of the GPUs stand round
  /// every launch.
  void time(std::vector<bench_point>& points);
  /// Once more, untimed, so that its outputs can be compared.
  void run_once(std::size_t way);

 private:
  [[nodiscard]] std::vector<double> launch(std::size_t way) const { return launch_together(with_.group, graphs_[way]); }
  void warm_up(std::size_t way, bench_point& point) const;

  column_context with_;
  std::vector<rank_graphs> graphs_;  ///< by way
};

}  // namespace switchyard::harness
