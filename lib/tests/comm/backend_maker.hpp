// SPDX-License-Identifier: Apache-2.0
// All kinds of comm backends, made the same way.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/host_group.hpp"
#include "switchyard/comm_backend.hpp"
#include "switchyard/socket_backend.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard::test {

/// A socket of this kind, bound to a port of the loopback that nobody else has.
inline unique_descriptor bound_to_a_free_port(std::uint16_t& port) {
  unique_descriptor bound(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  (void)::setsockopt(bound.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  (void)::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), bytes);
  (void)::getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
  port = ntohs(address.sin_port);
  return bound;
}

enum class socket_kind { unix_socket, tcp };

inline void PrintTo(socket_kind kind, std::ostream* out) {
  *out << (kind == socket_kind::unix_socket ? "unix_socket" : "tcp");
}

/// A rendezvous that no other test has.
class meeting_place {
 public:
  explicit meeting_place(socket_kind kind) : kind_(kind) {
    static std::atomic<int> count{0};
    name_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
    if (kind == socket_kind::tcp) (void)bound_to_a_free_port(port_);
  }

  [[nodiscard]] std::shared_ptr<comm_backend> make(const process_group& which) const {
    if (kind_ == socket_kind::tcp) return make_tcp_backend({"127.0.0.1", port_, ""}, which);
    return make_unix_socket_backend({name_}, which);
  }
  [[nodiscard]] std::shared_ptr<comm_backend> make(int rank, int size,
                                                   std::chrono::nanoseconds timeout = std::chrono::seconds(40)) const {
    return make({rank, size, timeout, "secret of " + name_});
  }
  [[nodiscard]] socket_kind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  socket_kind kind_;
  std::string name_;
  std::uint16_t port_ = 0;
};

/// The backends of one group of sockets, all in this process.
inline std::vector<std::shared_ptr<comm_backend>> make_socket_backends(socket_kind kind, int size) {
  const meeting_place place(kind);
  std::vector<std::shared_ptr<comm_backend>> backends(static_cast<std::size_t>(size));
  on_every_rank(size, [&](int rank) { backends[static_cast<std::size_t>(rank)] = place.make(rank, size); });
  return backends;
}

inline std::vector<int> gather_int(comm_backend& backend, int value, std::chrono::nanoseconds timeout) {
  std::vector<int> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)), timeout);
  return all;
}

inline rank_set set_of(std::initializer_list<int> ranks) {
  rank_set set{};
  for (const int rank : ranks) insert(set, rank);
  return set;
}

}  // namespace switchyard::test
