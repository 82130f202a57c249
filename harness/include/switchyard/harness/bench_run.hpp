// SPDX-License-Identifier: Apache-2.0
// Measuring dispatch and combine on GPUs: what to measure, what comes out, who hears of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/config.hpp"
#include "switchyard/harness/bench_accounting.hpp"
#include "switchyard/harness/bench_device_state.hpp"
#include "switchyard/harness/bench_shape.hpp"
#include "switchyard/harness/case_choices.hpp"
#include "switchyard/spec/faults.hpp"
#include "switchyard/spec/shapes.hpp"
#include "switchyard/support.hpp"

namespace switchyard::harness {

inline constexpr int most_bench_ranks = 8;  ///< GPUs of one host

/// What the steps of a bench are asked to go by.
enum class bench_transport : std::uint8_t {
  fence,      ///< never by lamport
  lamport,    ///< every step that may, whatever its tokens
  automatic,  ///< as the library chooses by bench_options::lamport and lamport_max_tokens
};
inline constexpr std::array all_bench_transports{bench_transport::fence, bench_transport::lamport,
                                                 bench_transport::automatic};

constexpr std::string_view to_string(bench_transport which) noexcept {
  switch (which) {
    case bench_transport::fence: return "fence";
    case bench_transport::lamport: return "lamport";
    case bench_transport::automatic: return "auto";
  }
  return "unknown";
}
/// The transport of that name.
std::optional<bench_transport> bench_transport_of(std::string_view name) noexcept;

/// What the library is measured as.
enum class bench_variant : std::uint8_t {
  usual,
  unchecked,  ///< by kernels that wait for headers and do not compare them, which only a bench has
  masked,     ///< with rank masks, all ranks taking part: by the kernels of workspaces that have them
};
inline constexpr std::array all_bench_variants{bench_variant::usual, bench_variant::unchecked, bench_variant::masked};

constexpr std::string_view to_string(bench_variant which) noexcept {
  switch (which) {
    case bench_variant::usual: return "usual";
    case bench_variant::unchecked: return "unchecked";
    case bench_variant::masked: return "masked";
  }
  return "unknown";
}
/// The variant of that name.
std::optional<bench_variant> bench_variant_of(std::string_view name) noexcept;

/// Which times of a point are taken.
enum class bench_columns : std::uint8_t {
  all,
  round_trip,  ///< the headline alone; all other times of a point are empty
};

struct bench_options {
  std::string profile;                      ///< its name, for the record
  std::vector<std::string> arguments = {};  ///< of the program, for the record: to be given again
  comm_params params;                       ///< max_tokens_per_rank is the largest of `tokens`
  low_precision low_precision_combine = low_precision::none;
  /// Measured one after the other at every count of tokens, each in place of what `params` and low_precision_combine
  /// say. Empty: what those say is the only one.
  std::vector<bench_shape> shapes = {};
  /// Keys of to_json(bench_shape) that options of the program named: these are part of the ids of the gate's scenarios.
  std::vector<std::string> named_keys = {};
  std::vector<std::int64_t> tokens;  ///< per rank; one point each
  int ranks = 2;                     ///< one GPU each
  int launches = 30;                 ///< of the graph, for the headline
  int steps = 40;                    ///< in the graph
  int stamped_launches = 8;  ///< of the graph that has a clock between the phases, and of eager steps with events
  std::uint64_t seed = 1;
  routing_law routing = routing_law::uniform;
  /// Measured at every point, launches of the headline in turn, so that what drifts falls on all alike.
  std::vector<bench_transport> transports{bench_transport::automatic};
  /// Beside the usual, which they are compared with, at every point by every transport: the headline alone.
  std::vector<bench_variant> variants;
  bench_columns columns = bench_columns::all;
  choice lamport = choice::automatic;  ///< of bench_transport::automatic
  std::int64_t lamport_max_tokens = one_sided_config().lamport_max_tokens;
  int host_jitter_us = 0;  ///< the last rank's host comes so much late at most: times must not show it
};

/// One of the things that take turns at a point.
struct bench_way {
  bench_transport transport = bench_transport::automatic;
  bench_variant variant = bench_variant::usual;
  friend bool operator==(const bench_way&, const bench_way&) = default;
};
/// Each transport as usual, then its variants.
std::vector<bench_way> ways_of(const bench_options& options);

/// Of every shape one, which has no other shapes.
std::vector<bench_options> options_of_shapes(const bench_options& options);

/// The machine as far as it matters to times.
struct bench_machine {
  struct gpu {
    std::string description;
    std::optional<int> numa_node = {};  ///< null: the system does not say
    std::string model = {};
    std::string uuid = {};
    std::optional<std::uint32_t> links = {};      ///< NVLinks; null: not read
    std::optional<std::uint32_t> link_mb_s = {};  ///< of each, one way
  };
  std::vector<gpu> gpus;
  std::string driver_version;     ///< empty: not read
  std::string nvml_why_not;       ///< why states of GPUs are not read; empty: they are
  std::string cpus_allowed;       ///< that this process may run on, as the kernel lists them; empty: not known
  std::string memory_allowed;     ///< NUMA nodes it may take memory from
  std::string cuda_runtime = {};  ///< version, "13.0"
  std::string cuda_driver = {};   ///< the newest runtime that the driver knows
};

/// Times of one phase, a step each. kernel, e2e, skew and settled come from clock kernels between the phases in a
/// graph: end of the kernel before to end of the one after, less what such a kernel takes by itself (stamp_node_us).
/// Launches of phases do not overlap there, so the two phases need not add up to the headline. stream comes from events
/// round the phase in steps without a graph, max over ranks.
struct phase_times {
  phase_bytes bytes;
  phase_spans spans;
  std::vector<double> stream_us;
};

/// [rank][launch] time / steps.
using launch_samples = std::vector<std::vector<double>>;

struct bench_point {
  std::int64_t tokens = 0;
  bench_shape shape = {};
  bench_transport asked = bench_transport::automatic;
  bench_variant variant = bench_variant::usual;
  transport taken = transport::fence;  ///< by the library
  std::string taken_because;           ///< its reason
  launch_samples round_trip_us;        ///< the headline: a graph, warm fixed buffers
  launch_samples cold_us;   ///< the same, inputs and outputs rotated so that the second-level cache holds none
  launch_samples eager_us;  ///< without a graph: a thread per rank enqueues steps while they run
  phase_times dispatch;
  phase_times combine;
  std::optional<double> clock_error_us;              ///< of e2e, skew and settled; null: clocks could not be compared
  std::optional<std::vector<marked_launch>> marked;  ///< of the headline; null: states were not read
  /// [rank] round as many launches of the headline's graph, of this transport alone, before those that are timed.
  std::vector<device_state> before;
  std::vector<device_state> after;
  std::uint64_t steps_between = 0;  ///< that ran from before to after
  std::uint64_t checked_rows = 0;   ///< compared with the golden model, of views and outputs
  std::string checked_what;         ///< which rows
};

/// A result was wrong: nothing is said of its time.
class wrong_result : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class bench_observer {
 public:
  virtual ~bench_observer() = default;
  virtual void note(const std::string& line) = 0;
  virtual void machine(const bench_machine& where) = 0;
  virtual void link(const link_yardstick& measured) = 0;
  virtual void point(const bench_point& measured) = 0;
  /// Asked when all points of a shape are measured: further ones, none above the capacity of the options. Empty: it
  /// ends.
  virtual std::vector<std::int64_t> further_tokens() { return {}; }
};

/// Whether that many ranks can be measured here.
support bench_support(int ranks);

/// Measures the link, then every point of every shape by every transport and variant, each after its result has been
/// checked. Throws wrong_result, and what the library throws. Of what a shape needs nothing is kept for the next.
/// Precondition: bench_support(options.ranks).
void run_bench(const bench_options& options, bench_observer& observer);

}  // namespace switchyard::harness
