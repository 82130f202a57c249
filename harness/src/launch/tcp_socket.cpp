// SPDX-License-Identifier: Apache-2.0
#include "tcp_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "switchyard/harness/machine.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

constexpr int backlog = 256;
constexpr auto retry_interval = 50ms;
constexpr int connect_ms = 2000;  // of one attempt at one address

/// Bound to `port` of all addresses. Empty when that cannot be, and errno says why.
unique_descriptor bound_to(std::uint16_t port) {
  unique_descriptor both(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  constexpr int on = 1;
  constexpr int off = 0;
  if (both) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    (void)::setsockopt(both.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)::setsockopt(both.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(both.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0) return both;
    if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) return {};
  }
  unique_descriptor only(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));  // a host without IPv6
  if (!only) return {};
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  (void)::setsockopt(only.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(only.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
  return only;
}

void send_at_once(const unique_descriptor& socket) {
  constexpr int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A host that goes down without a word is noticed, if not at once.
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/// Empty when nobody listens there, or not now.
unique_descriptor attempt(const addrinfo& to) {
  unique_descriptor socket(::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to.ai_protocol));
  if (!socket) return {};
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return {};
    pollfd one{socket.get(), POLLOUT, 0};
    if (::poll(&one, 1, connect_ms) != 1) return {};
    int failure = 0;
    socklen_t length = sizeof failure;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &length) != 0 || failure != 0) return {};
  }
  // A socket that nobody listens at may be connected to itself, when the system picks that port for it.
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_length = sizeof here;
  socklen_t there_length = sizeof there;
  const bool known = ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &here_length) == 0 &&
                     ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&there), &there_length) == 0;
  if (!known || (here_length == there_length && std::memcmp(&here, &there, here_length) == 0)) return {};
  send_at_once(socket);
  return socket;
}

}  // namespace

unique_descriptor listen_at(std::uint16_t port) {
  auto listener = bound_to(port);
  if (!listener || ::listen(listener.get(), backlog) != 0) {
    throw environment_error("port " + std::to_string(port) + " cannot be listened at: " + std::strerror(errno));
  }
  return listener;
}

std::uint16_t port_of(const unique_descriptor& listener) {
  sockaddr_storage found{};
  socklen_t length = sizeof found;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&found), &length) != 0) {
    throw environment_error(std::string("a socket without an address: ") + std::strerror(errno));
  }
  return ntohs(found.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(found).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(found).sin_port);
}

unique_descriptor accept_one(const unique_descriptor& listener) {
  unique_descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) send_at_once(socket);
  return socket;
}

unique_descriptor connect_to(const std::string& host, std::uint16_t port, std::chrono::nanoseconds limit,
                             const std::function<bool()>& stop_requested) {
  const auto give_up = std::chrono::steady_clock::now() + limit;
  const auto place = host + " port " + std::to_string(port);
  std::string last = "nobody listens there";
  do {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
    last = failure == 0 ? "nobody listens there" : ::gai_strerror(failure);
    for (const auto* each = all.get(); each != nullptr; each = each->ai_next) {
      if (auto socket = attempt(*each)) return socket;
    }
    if (stop_requested && stop_requested()) throw environment_error("stopped while rank 0 was looked for at " + place);
    std::this_thread::sleep_for(retry_interval);
  } while (std::chrono::steady_clock::now() < give_up);
  throw environment_error("rank 0 was not found at " + place + ": " + last);
}

bool is_port_free(std::uint16_t port) {
  const auto listener = bound_to(port);
  return listener && ::listen(listener.get(), 1) == 0;
}

}  // namespace switchyard::harness
