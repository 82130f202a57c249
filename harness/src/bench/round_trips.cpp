// SPDX-License-Identifier: Apache-2.0
#include "round_trips.hpp"

#include <algorithm>

namespace switchyard::harness {

round_trips::round_trips(const column_context& with, std::int64_t tokens) : with_(with) {
  for (std::size_t i = 0; i < with.group.ways().size(); ++i) {
    with.group.use(i);
    graphs_.push_back(
        record_steps(with, tokens, [&](const timed_rank& one, int) { return with.group.fixed_buffers(one); }));
  }
}

/// Counters of the links tell ways apart only while one of them runs alone.
void round_trips::warm_up(std::size_t way, bench_point& point) const {
  constexpr int least_launches = 3;
  const int launches = std::max(least_launches, with_.options.launches);
  point.before = with_.reader.read();
  for (int i = 0; i < launches; ++i) (void)launch(way);
  point.after = with_.reader.read();
  point.steps_between = static_cast<std::uint64_t>(launches) * static_cast<std::uint64_t>(with_.options.steps);
}

void round_trips::time(std::vector<bench_point>& points) {
  const auto count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    warm_up(i, points[i]);
    points[i].round_trip_us.assign(static_cast<std::size_t>(with_.options.ranks), {});
  }
  std::vector<std::vector<device_state>> readings{with_.reader.read_marks()};
  std::vector<std::size_t> turns;
  for (int round = 0; round < with_.options.launches; ++round) {
    for (const auto turn : turns_of_round(count, round)) {
      // What another way left in the caches is not what its own steps find there.
      if (count > 1) (void)launch(turn);
      const auto took = launch(turn);
      readings.push_back(with_.reader.read_marks());
      turns.push_back(turn);
      auto& samples = points[turn].round_trip_us;
      for (std::size_t rank = 0; rank < took.size(); ++rank) {
        samples[rank].push_back(took[rank] / with_.options.steps);
      }
    }
  }
  if (!with_.reader.why_not().empty()) return;
  auto marks = marks_of_turns(readings, turns, count);
  for (std::size_t i = 0; i < count; ++i) points[i].marked = std::move(marks[i]);
}

void round_trips::run_once(std::size_t way) { (void)launch(way); }

}  // namespace switchyard::harness
