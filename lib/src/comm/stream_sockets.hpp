// SPDX-License-Identifier: Apache-2.0
// Calls of the socket interface, for addresses of any family.
#pragma once

#include <sys/socket.h>

#include <string>

#include "comm/wire.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard::comm {

struct socket_address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

enum class peer_side { own, other };

/// "call: reason" of errno.
std::string reason_of(const char* call);

/// A stream socket, non-blocking and close-on-exec. Throws unsupported where there can be none.
unique_descriptor open_stream_socket(int family);
/// None, and errno, where the address is taken or not ours.
unique_descriptor listen_at(const socket_address& address);
/// Begins to connect. None, and errno, where that fails at once.
unique_descriptor begin_connecting(const socket_address& address);
/// Whether what was begun has succeeded; `why` if not. The socket can be written to. A TCP connection to an unused port
/// of this host may meet itself, when the system picks the same port for its own end: that is no success.
bool finish_connecting(int socket, std::string& why);
/// The next connection that waits; none when there is none.
unique_descriptor accept_one(int listener);

/// Of an address of IPv4 or IPv6.
std::uint16_t port_of(const socket_address& address);
socket_address address_at(int socket, peer_side side);

/// Text that is cut where there is no room for it.
wire_address to_wire(const std::string& text);
std::string to_text(const wire_address& address);

}  // namespace switchyard::comm
