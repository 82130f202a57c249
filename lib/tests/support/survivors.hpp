// SPDX-License-Identifier: Apache-2.0
// Groups that recover without some of their ranks, and steps of them that say by themselves whether they are exact.
#pragma once

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "layout/round_state.hpp"
#include "support/masked_group.hpp"

namespace switchyard::test {

/// By which transport, and how many blocks a launch has.
struct how {
  choice lamport;
  int workers;
  [[nodiscard]] std::string name() const {
    return (lamport == choice::off ? "fence_" : "lamport_") + std::to_string(workers);
  }
  friend void PrintTo(const how& which, std::ostream* out) { *out << which.name(); }
};

inline group_options options_of_survivors(const how& way, int ep_size,
                                          std::chrono::milliseconds warmup = std::chrono::seconds(10)) {
  auto options = masked_group(ep_size, way.lamport);
  options.workers = way.workers;
  options.config.timeout = std::chrono::milliseconds(500);
  options.config.warmup_timeout = warmup;
  return options;
}

/// A group and the backends that it recovers by; steps whose results say by themselves whether they are exact.
struct group_of_survivors {
  explicit group_of_survivors(const group_options& how)
      : ep_size(how.ep_size), group(how), backends(make_in_process_backends(how.ep_size)) {}

  void recover(int rank, const rank_set& active) {
    group.instance(rank).recover(*backends[static_cast<std::size_t>(rank)], active);
  }
  /// Every rank's are over when it returns: whoever goes on to recover ends what others are still doing.
  void expect_exact_steps(int rank, const rank_set& active, int steps) {
    for (int step = 0; step < steps; ++step) {
      const auto ids = spread_ids(ep_size, 1 + (step * 13 + 5) % 40);
      expect_masked(run_masked_step(group, rank, ids), rank, ep_size, active, ids);
    }
    backends[static_cast<std::size_t>(rank)]
        ->part_of(active, std::chrono::seconds(20))
        ->barrier(std::chrono::seconds(20));
  }
  /// A step that somebody does not come to.
  void fail_a_step(int rank) {
    token_batch batch(rank, group.instance(rank).params(), spread_ids(ep_size, 20));
    (void)enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    ASSERT_TRUE(group.instance(rank).status()) << "rank " << rank;
  }
  const layout::round_state& round(int rank) {
    return *reinterpret_cast<const layout::round_state*>(group.instance(rank).workspace_data());
  }

  int ep_size;
  host_group group;
  std::vector<std::shared_ptr<comm_backend>> backends;
};

}  // namespace switchyard::test
