// SPDX-License-Identifier: Apache-2.0
// How a GPU was while it was measured: clocks, what holds them down, temperature, memory errors, bytes over its links.
// Words and arithmetic only; what cannot be read is absent, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::harness {

struct device_state {
  std::optional<std::uint32_t> sm_clock_mhz;
  std::optional<std::uint32_t> memory_clock_mhz;
  std::optional<std::uint64_t> throttle_reasons;  ///< bits as the driver's management library gives them
  std::optional<std::uint32_t> temperature_c;
  std::optional<std::uint64_t> ecc_corrected;  ///< since the driver was loaded
  std::optional<std::uint64_t> ecc_uncorrected;
  std::optional<std::uint64_t> nvlink_errors;  ///< checksum, replay and recovery errors of all links
  std::optional<std::uint64_t> nvlink_data_tx_kib;
  std::optional<std::uint64_t> nvlink_data_rx_kib;
  std::optional<std::uint64_t> nvlink_raw_tx_kib;  ///< with headers
  std::optional<std::uint64_t> nvlink_raw_rx_kib;
};

/// What moved between two readings of one GPU and so may have touched the times between them: clocks, throttle reasons
/// but for idleness, memory errors, link errors. Empty: nothing. Temperature and bytes always move and do not count.
std::string what_moved(const device_state& before, const device_state& after);

/// Marks of launches from readings round them: [reading][rank], one more reading than launches.
struct marked_launch {
  int launch = 0;
  int rank = 0;
  std::string moved;
  bool operator==(const marked_launch&) const = default;
};
std::vector<marked_launch> marks_of(const std::vector<std::vector<device_state>>& readings);

/// The same when launches of several things took turns: turns[launch] says whose each was. Marks of each of `count`
/// things, launches numbered among its own.
std::vector<std::vector<marked_launch>> marks_of_turns(const std::vector<std::vector<device_state>>& readings,
                                                       const std::vector<std::size_t>& turns, std::size_t count);

/// Bytes that left the GPU per step, by its link counters; null when they were not read, or went backwards.
std::optional<double> link_bytes_per_step(const device_state& before, const device_state& after, std::uint64_t steps);

}  // namespace switchyard::harness
