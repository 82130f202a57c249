// SPDX-License-Identifier: Apache-2.0
// The group of a case as one of its processes sees it: whom it waits for counts the supervisor.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "../run/meeting.hpp"
#include "../run/rank_group.hpp"
#include "control_channel.hpp"

namespace switchyard::harness {

/// Where the processes of a group make their backends, as the supervisor says.
struct rendezvous_choice {
  bool one_host = true;  ///< by a name of the host, which passes descriptors; else by TCP
  std::string name;      ///< of this life of the group; on one host the name itself, by TCP a secret
  std::string host;      ///< by TCP: of rank 0
  std::uint16_t port = 0;
};

nlohmann::json rendezvous_json(const rendezvous_choice& choice);
/// Throws nlohmann::json::exception.
rendezvous_choice parse_rendezvous(const nlohmann::json& message);

/// Backends of a process that outlive a case: making one takes every process of the group. By the number of ranks.
class kept_backends {
 public:
  /// The group has begun a new life, so those of the earlier one are let go.
  void renew(const rendezvous_choice& choice);
  /// Makes it at the first call. Throws what make_unix_socket_backend() throws.
  std::shared_ptr<comm_backend> of(int rank, int ep_size);
  /// One that is not kept. Precondition: `purpose` is of this life alone.
  [[nodiscard]] std::shared_ptr<comm_backend> make(int rank, int ep_size, const std::string& purpose) const;

 private:
  rendezvous_choice choice_;
  std::map<int, std::shared_ptr<comm_backend>> by_size_;
};

/// For one case. meet(), call_off() and backends for the rank's thread; end() for the one that has the channel's other
/// messages.
class process_group final : public rank_group {
 public:
  /// `number` tells apart the attempts at cases within the life of the group. All three outlive this.
  process_group(control_channel& channel, kept_backends& backends, int rank, int ep_size, std::uint64_t number)
      : channel_(channel), backends_(backends), rank_(rank), ep_size_(ep_size), number_(number) {}

  [[nodiscard]] bool is_here(int rank) const noexcept override { return rank == rank_; }
  [[nodiscard]] bool of_processes() const noexcept override { return true; }
  bool meet(meeting_point where, int rank, bool well) override;
  void call_off(meeting_point where) override;
  std::shared_ptr<comm_backend> backend(int rank) override { return backends_.of(rank, ep_size_); }
  std::shared_ptr<comm_backend> backend_before(int step, int rank) override;

  /// The supervisor has said how a meeting ends.
  void end(meeting_point where, bool well);
  [[nodiscard]] bool has_ended(meeting_point where) const;

 private:
  control_channel& channel_;
  kept_backends& backends_;
  int rank_;
  int ep_size_;
  std::uint64_t number_;
  std::array<meeting, num_meeting_points> points_;
};

}  // namespace switchyard::harness
