// SPDX-License-Identifier: Apache-2.0
// Processes of a job as threads of a test, over TCP of this host.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "channel_ends.hpp"
#include "control_channel.hpp"
#include "messages.hpp"
#include "switchyard/harness/job.hpp"
#include "switchyard/harness/machine.hpp"
#include "tcp_socket.hpp"

namespace switchyard::harness {

inline constexpr const char* local_address = "127.0.0.1";

/// A process of the job "night" of one host.
inline job_process process_of_job(int rank, int size, std::uint16_t port) {
  job_process process;
  process.place = {.launcher = "torchrun",
                   .rank = rank,
                   .size = size,
                   .local_rank = rank,
                   .local_size = size,
                   .host = local_address,
                   .port = port,
                   .job = "night"};
  process.identity = {{"commit", "a"}, {"seed", 1}};
  process.limit = patient;
  return process;
}

/// What an agent of that job says, one to a host, each host another.
inline nlohmann::json join_of(int rank, int size) {
  return {{"is", say::join},
          {"rank", rank},
          {"size", size},
          {"local_rank", 0},
          {"local_size", 1},
          {"job", "night"},
          {"host", "host of rank " + std::to_string(rank)},
          {"identity", {{"commit", "a"}, {"seed", 1}}}};
}

/// Rank 0 of a job of `size` processes, which gathers the others on a thread of its own.
class gathering_rank {
 public:
  explicit gathering_rank(int size, int local_size = 1, std::chrono::milliseconds limit = patient) {
    const int listener = listen_at_free_ports(port_);
    auto process = process_of_job(0, size, port_);
    process.place.local_size = local_size;
    process.limit = limit;
    joined_ = std::async(std::launch::async, [process, listener] { return gather_job(process, listener); });
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] unique_descriptor connect() const { return connect_to(local_address, port_, patient, {}); }
  /// An agent that has said `join`.
  [[nodiscard]] std::unique_ptr<control_channel> join(const nlohmann::json& join) const {
    auto channel = std::make_unique<control_channel>(connect());
    channel->send(join);
    return channel;
  }

  /// To be called once. Throws what gather_job() throws.
  [[nodiscard]] joined_job result() { return joined_.get(); }
  /// Why it gave up.
  [[nodiscard]] std::string failure() {
    return thrown_by<environment_error>([this] { (void)joined_.get(); });
  }

 private:
  std::uint16_t port_ = 0;
  std::future<joined_job> joined_;
};

/// What a test puts in the place of rank 0, at any free port.
class fake_rank_zero {
 public:
  [[nodiscard]] std::uint16_t port() const { return port_of(listener_); }
  /// Waits until one comes.
  [[nodiscard]] std::unique_ptr<control_channel> accept() const {
    pollfd one{listener_.get(), POLLIN, 0};
    (void)::poll(&one, 1, static_cast<int>(std::chrono::milliseconds(patient).count()));
    auto socket = accept_one(listener_);
    EXPECT_TRUE(socket);
    return std::make_unique<control_channel>(std::move(socket));
  }

 private:
  unique_descriptor listener_ = listen_at(0);
};

}  // namespace switchyard::harness
