// SPDX-License-Identifier: Apache-2.0
// Where streams come from: what differs between unix sockets and TCP. All sockets are non-blocking and close-on-exec.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/wire.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard::comm {

class socket_domain {
 public:
  virtual ~socket_domain() = default;

  /// For messages.
  [[nodiscard]] virtual std::string rendezvous() const = 0;
  [[nodiscard]] virtual bool passes_descriptors() const noexcept = 0;

  /// Of rank 0. None, and errno, where that cannot be, as where somebody else listens.
  virtual unique_descriptor listen_at_rendezvous() = 0;
  /// Begins to connect; the connection is there when poll says that it can be written to and finish_connecting() says
  /// so too. None where there is nobody yet, and `why` says what was tried. Each call may try another address.
  virtual unique_descriptor connect_to_rendezvous(std::string& why) = 0;

  /// Of any other rank, at an address of the system's choice.
  virtual unique_descriptor listen() = 0;
  /// What to tell rank 0 of a listener.
  [[nodiscard]] virtual wire_address address_of(int listener) const = 0;
  /// What rank 0 is to tell the others, of a rank whose connection this is and which has told it `told`.
  [[nodiscard]] virtual wire_address as_seen(int connection, const wire_address& told) const = 0;
  /// As connect_to_rendezvous; errno is EAGAIN where another try may do better.
  [[nodiscard]] virtual unique_descriptor connect_to(const wire_address& address, std::string& why) const = 0;

  /// Why the other end of a connection is not to be trusted, whatever it says; empty: it may be.
  [[nodiscard]] virtual std::string distrust(int connection) const = 0;
};

std::unique_ptr<socket_domain> make_unix_domain(const std::string& name);
std::unique_ptr<socket_domain> make_tcp_domain(const std::string& host, std::uint16_t port,
                                               const std::string& own_host);

}  // namespace switchyard::comm
