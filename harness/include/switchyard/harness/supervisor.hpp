// SPDX-License-Identifier: Apache-2.0
// Runs cases whose ranks are processes, from outside of them: starts the group once, hands it case after case, ends all
// of it after a crash or a hang, and goes on with a new one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

class rank_link;  // see harness/src/launch/rank_link.hpp

/// By rank.
class rank_links {
 public:
  rank_links();
  explicit rank_links(std::vector<std::unique_ptr<rank_link>> all);
  ~rank_links();
  rank_links(rank_links&&) noexcept;
  rank_links& operator=(rank_links&&) noexcept;

  [[nodiscard]] std::vector<std::unique_ptr<rank_link>> take();

 private:
  std::vector<std::unique_ptr<rank_link>> all_;
};

struct supervisor_options {
  std::uint64_t seed = 1;
  const std::vector<case_spec>& cases;  ///< as every rank's process has them
  nlohmann::json identity;              ///< group_identity_json() of this process
  bool on_gpus = false;
  int ranks_per_host = 0;  ///< 0: all ranks are on this host
  /// From the start of its process until a rank has said hello.
  std::chrono::nanoseconds start_limit = std::chrono::seconds(120);
  /// The most that one case may take, progress or not.
  std::chrono::nanoseconds case_limit = std::chrono::seconds(600);
  std::function<bool()> stop_requested = {};
};

class supervisor {
 public:
  /// Where ranks are on several hosts, `rendezvous_host` and `rendezvous_port` are where rank 0 is found by the others.
  supervisor(supervisor_options options, rank_links links, std::string rendezvous_host = {},
             std::uint16_t rendezvous_port = 0);
  ~supervisor();
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  [[nodiscard]] int size() const noexcept;

  /// Starts all ranks, which a run does before its first case. Throws environment_error naming ranks that did not come,
  /// and how they ended, or that are of another build or have other cases; then no process is left.
  void start();

  /// What each rank said of the machine as it sees it, by rank. Behind start().
  [[nodiscard]] nlohmann::json as_seen() const;

  /// Runs a case of options.cases on its first ep_size ranks; more than size() are skipped. As run_case(), but:
  ///   crash        a rank's process has ended, as the reason says
  ///   timeout      nothing went on for longer than the case's deadlines allow, or the case took case_limit: the reason
  ///                names the ranks that hang, where, and which others miss them by the library's records
  /// After either, and where a GPU is lost, the processes are killed, and the next case has new ones. When these do not
  /// come, that is a crash of its case; of the third in a row, `missing`, which ends the run.
  case_result run(const case_spec& spec);

  /// Lets the processes quit, and ends those that do not within a few seconds. Idempotent.
  void stop() noexcept;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

/// `count` ranks that are processes of this host, started as this program was; none is started yet. Throws
/// environment_error.
rank_links make_local_ranks(int count);

}  // namespace switchyard::harness
