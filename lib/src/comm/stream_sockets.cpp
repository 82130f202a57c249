// SPDX-License-Identifier: Apache-2.0
#include "comm/stream_sockets.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/descriptors.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {

namespace {

bool meets_itself(int socket) {
  const auto own = address_at(socket, peer_side::own);
  const auto other = address_at(socket, peer_side::other);
  return own.storage.ss_family != AF_UNIX && own.bytes == other.bytes &&
         std::memcmp(&own.storage, &other.storage, own.bytes) == 0;
}

}  // namespace

std::string reason_of(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

unique_descriptor open_stream_socket(int family) {
  unique_descriptor opened(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (opened) {
    // A gathering is one small message each way. Connections inherit it from their listener.
    const int on = 1;
    if (family != AF_UNIX) (void)::setsockopt(opened.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return opened;
  }
  if (errno == EMFILE) throw_no_more_descriptors();
  throw unsupported("comm backend: " + reason_of("socket"));
}

unique_descriptor listen_at(const socket_address& address) {
  auto listener = open_stream_socket(address.storage.ss_family);
  if (address.storage.ss_family != AF_UNIX) {
    // Connections of an earlier run that the kernel still remembers do not keep the port; a listener does.
    const int on = 1;
    (void)::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  }
  if (address.storage.ss_family == AF_INET6) {
    const int six_alone = 0;
    (void)::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &six_alone, sizeof(six_alone));
  }
  if (::bind(listener.get(), address.get(), address.bytes) != 0) return {};
  if (::listen(listener.get(), 2 * max_ep_size) != 0) return {};
  return listener;
}

unique_descriptor begin_connecting(const socket_address& address) {
  auto socket = open_stream_socket(address.storage.ss_family);
  const int result = ::connect(socket.get(), address.get(), address.bytes);
  if (result != 0 && errno != EINPROGRESS && errno != EINTR) return {};
  return socket;
}

bool finish_connecting(int socket, std::string& why) {
  int failure = 0;
  socklen_t bytes = sizeof(failure);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &bytes) != 0) failure = errno;
  if (failure == 0 && meets_itself(socket)) failure = ECONNREFUSED;
  if (failure == 0) return true;
  errno = failure;
  why = reason_of("connect");
  return false;
}

unique_descriptor accept_one(int listener) {
  unique_descriptor accepted(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  // What else can go wrong is the connection's own end, or no memory: the next call may do better.
  if (!accepted && errno == EMFILE) throw_no_more_descriptors();
  return accepted;
}

std::uint16_t port_of(const socket_address& address) {
  if (address.storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(address.get())->sin_port);
}

socket_address address_at(int socket, peer_side side) {
  socket_address address;
  address.bytes = sizeof(address.storage);
  const int result = side == peer_side::own ? ::getsockname(socket, address.get(), &address.bytes)
                                            : ::getpeername(socket, address.get(), &address.bytes);
  if (result != 0) address.bytes = 0;
  return address;
}

wire_address to_wire(const std::string& text) {
  wire_address address{};
  std::copy_n(text.begin(), std::min(text.size(), address.size() - 1), address.begin());
  return address;
}

std::string to_text(const wire_address& address) {
  return {address.begin(), std::find(address.begin(), address.end(), '\0')};
}

}  // namespace switchyard::comm
