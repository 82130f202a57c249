// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_device_state.hpp"

namespace switchyard::harness {
namespace {

/// The reason "idle" comes and goes between launches and slows nothing that runs.
constexpr std::uint64_t idle_reason = 1;

template <class Number>
void name_if_moved(std::string& names, const char* name, const std::optional<Number>& before,
                   const std::optional<Number>& after) {
  if (before == after) return;
  const auto text = [](const std::optional<Number>& value) { return value ? std::to_string(*value) : "null"; };
  names += (names.empty() ? "" : ", ") + std::string(name) + " from " + text(before) + " to " + text(after);
}

std::optional<std::uint64_t> but_idle(const std::optional<std::uint64_t>& reasons) {
  return reasons ? std::optional(*reasons & ~idle_reason) : std::nullopt;
}

}  // namespace

std::string what_moved(const device_state& before, const device_state& after) {
  std::string names;
  name_if_moved(names, "sm_clock_mhz", before.sm_clock_mhz, after.sm_clock_mhz);
  name_if_moved(names, "memory_clock_mhz", before.memory_clock_mhz, after.memory_clock_mhz);
  name_if_moved(names, "throttle_reasons", but_idle(before.throttle_reasons), but_idle(after.throttle_reasons));
  name_if_moved(names, "ecc_corrected", before.ecc_corrected, after.ecc_corrected);
  name_if_moved(names, "ecc_uncorrected", before.ecc_uncorrected, after.ecc_uncorrected);
  name_if_moved(names, "nvlink_errors", before.nvlink_errors, after.nvlink_errors);
  return names;
}

std::vector<marked_launch> marks_of(const std::vector<std::vector<device_state>>& readings) {
  std::vector<marked_launch> marks;
  for (std::size_t launch = 0; launch + 1 < readings.size(); ++launch) {
    for (std::size_t rank = 0; rank < readings[launch].size(); ++rank) {
      auto moved = what_moved(readings[launch][rank], readings[launch + 1].at(rank));
      if (!moved.empty()) marks.push_back({static_cast<int>(launch), static_cast<int>(rank), std::move(moved)});
    }
  }
  return marks;
}

std::vector<std::vector<marked_launch>> marks_of_turns(const std::vector<std::vector<device_state>>& readings,
                                                       const std::vector<std::size_t>& turns, std::size_t count) {
  std::vector<int> own_number;
  std::vector<int> launches(count, 0);
  for (const auto turn : turns) own_number.push_back(launches[turn]++);
  std::vector<std::vector<marked_launch>> marks(count);
  for (auto& mark : marks_of(readings)) {
    const auto place = static_cast<std::size_t>(mark.launch);
    marks[turns.at(place)].push_back({own_number[place], mark.rank, std::move(mark.moved)});
  }
  return marks;
}

std::optional<double> link_bytes_per_step(const device_state& before, const device_state& after, std::uint64_t steps) {
  if (!before.nvlink_data_tx_kib || !after.nvlink_data_tx_kib || steps == 0) return std::nullopt;
  if (*after.nvlink_data_tx_kib < *before.nvlink_data_tx_kib) return std::nullopt;
  constexpr double kib = 1024;
  return static_cast<double>(*after.nvlink_data_tx_kib - *before.nvlink_data_tx_kib) * kib / static_cast<double>(steps);
}

}  // namespace switchyard::harness
