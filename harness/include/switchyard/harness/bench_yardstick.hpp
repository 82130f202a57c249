// SPDX-License-Identifier: Apache-2.0
// What NCCL takes for the same step in the same run: the yardstick that a dispatch and combine of one's own has to
// beat. Arithmetic and words only, no device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/bench_shape.hpp"

namespace switchyard::harness {

/// How a step is made of NCCL calls.
enum class nccl_scheme : std::uint8_t {
  all_gather,    ///< all-gather of one block of all payloads, reduce-scatter of the experts' rows; no routing
  send_receive,  ///< pack, grouped send and receive of exactly the routed rows, and back, then the sum
};
/// Where its buffers lie.
enum class nccl_memory : std::uint8_t {
  plain,             ///< of the CUDA runtime
  registered,        ///< of ncclMemAlloc, made known by ncclCommRegister
  symmetric_window,  ///< of ncclMemAlloc, made known by ncclCommWindowRegister; NCCL 2.27 and newer
};
std::string_view to_string(nccl_scheme scheme) noexcept;
std::string_view to_string(nccl_memory memory) noexcept;

/// One way to run a scheme. NCCL_GRAPH_MIXING_SUPPORT is read once by a process, so each value has a process.
struct nccl_variant {
  nccl_memory memory = nccl_memory::plain;
  int graph_mixing = 1;
  bool operator==(const nccl_variant&) const = default;
};
/// "symmetric_window, graph mixing 0"
std::string to_string(const nccl_variant& variant);

struct nccl_measurement {
  std::int64_t tokens = 0;
  nccl_scheme scheme = nccl_scheme::all_gather;
  nccl_variant variant;
  std::string failure;                             ///< empty: the result passed its check before and after timing
  std::vector<std::vector<double>> dispatch_us;    ///< [rank][launch] graph time / steps; empty on failure
  std::vector<std::vector<double>> round_trip_us;  ///< the same
  bench_shape shape = {};                          ///< what combine is in low precision goes back in its dtype here
  bool operator==(const nccl_measurement&) const = default;
};

/// The library that was measured, or why none was.
struct nccl_library {
  std::string version;                   ///< "2.28.9"; empty: not measured
  std::string why_not;                   ///< set when version is empty
  std::vector<std::string> environment;  ///< NAME=VALUE of every NCCL_* variable, sorted
};

struct nccl_best {
  nccl_variant variant;
  double time_us = 0;                      ///< median over launches of the slowest rank
  std::optional<double> aa_shift_us = {};  ///< see repeat_noise, launches for processes
  bool operator==(const nccl_best&) const = default;
};
/// One scheme at one point. Null where no variant passed its check.
struct nccl_figures {
  std::optional<nccl_best> dispatch;
  std::optional<nccl_best> round_trip;
  std::vector<std::string> failed;  ///< variant and reason of each that did not pass
};
/// The fastest that passed, each of dispatch and round trip by itself. Others at other points or schemes are passed by.
nccl_figures figures_of(std::span<const nccl_measurement> measured, nccl_scheme scheme, const bench_shape& shape,
                        std::int64_t tokens);

}  // namespace switchyard::harness
