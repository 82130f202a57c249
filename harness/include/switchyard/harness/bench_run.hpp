// SPDX-License-Identifier: Apache-2.0
// Measuring dispatch and combine on GPUs: what to measure, what comes out, who hears of it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "switchyard/harness/bench_accounting.hpp"
#include "switchyard/spec/shapes.hpp"
#include "switchyard/support.hpp"

namespace switchyard::harness {

inline constexpr int most_bench_ranks = 8;  ///< GPUs of one host

struct bench_options {
  std::string profile;               ///< its name, for the record
  comm_params params;                ///< max_tokens_per_rank is the largest of `tokens`
  std::vector<std::int64_t> tokens;  ///< per rank; one point each
  int ranks = 2;                     ///< one GPU each
  int launches = 30;                 ///< of the graph, for the headline
  int steps = 40;                    ///< in the graph
  int stamped_launches = 8;          ///< of the graph that has a clock between the phases
  std::uint64_t seed = 1;
};

/// Times of one phase from clock kernels between the phases in a graph: end of the kernel before to end of the one
/// after, less what such a kernel takes by itself (stamp_node_us). Launches of phases do not overlap there, so the two
/// phases need not add up to the headline.
struct phase_times {
  std::uint64_t remote_bytes = 0;
  std::vector<double> raw_us;  ///< a step each, max over ranks
};

struct bench_point {
  std::int64_t tokens = 0;
  std::vector<std::vector<double>> round_trip_us;  ///< [rank][launch] graph time / steps
  phase_times dispatch;
  phase_times combine;
  std::uint64_t checked_rows = 0;  ///< compared with the golden model, of views and outputs
  std::string checked_what;        ///< which rows
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
  /// The GPUs, one line each.
  virtual void devices(const std::vector<std::string>& lines) = 0;
  virtual void link(const link_yardstick& measured) = 0;
  virtual void point(const bench_point& measured) = 0;
};

/// Whether that many ranks can be measured here.
support bench_support(int ranks);

/// Measures the link, then every point, each after its result has been checked. Throws wrong_result, and what the
/// library throws. Precondition: bench_support(options.ranks).
void run_bench(const bench_options& options, bench_observer& observer);

}  // namespace switchyard::harness
