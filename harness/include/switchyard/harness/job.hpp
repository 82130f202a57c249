// SPDX-License-Identifier: Apache-2.0
// Ranks that a launcher has started, on one host or several: the process of rank 0 supervises, the others are its
// agents. Each starts the process of its own rank as a child, which can be ended and started anew without the launcher.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "switchyard/harness/launch_environment.hpp"
#include "switchyard/harness/supervisor.hpp"

namespace switchyard::harness {

/// A process of a job, and how it is to meet the others.
struct job_process {
  launched_process place;                                      ///< of a launcher that tells host and port
  nlohmann::json identity;                                     ///< group_identity_json()
  std::chrono::nanoseconds limit = std::chrono::seconds(120);  ///< until all have come together
  std::function<bool()> stop_requested = {};
};

/// What rank 0 knows once all have come.
struct joined_job {
  rank_links links;
  bool one_host = true;
  int num_hosts = 1;
  int ranks_per_host = 1;
  std::string rendezvous_host;  ///< where hosts differ: of rank 0
  std::uint16_t rendezvous_port = 0;
};

/// The port behind that of the supervisor, at which rank 0's own process meets those of other hosts.
constexpr std::uint16_t rendezvous_port_of(std::uint16_t port) noexcept { return static_cast<std::uint16_t>(port + 1); }

/// For rank 0: waits until the agents of all others have come. Throws environment_error naming the ranks that did not
/// within the limit; naming one of another build, with other cases, of another size or that is there twice; where ranks
/// do not lie in blocks of one size on their hosts; and for a port that is taken.
joined_job gather_job(const job_process& process);

/// The same by a listening socket of one's own, where port is not told beforehand.
joined_job gather_job(const job_process& process, int listener);

/// A socket that listens at any two ports in a row that are free, of which it has the first. Throws environment_error.
int listen_at_free_ports(std::uint16_t& port);

/// For all others: does what the supervisor says until that finishes. Throws environment_error when rank 0 is not
/// found, turns this process away, or is lost, with this rank's process ended.
void serve_as_agent(const job_process& process);

}  // namespace switchyard::harness
