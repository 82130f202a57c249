// SPDX-License-Identifier: Apache-2.0
// TCP over IPv4 and IPv6. Rank 0 listens on all of its host's addresses: which of them the others take is theirs to
// know. Any other rank is reached at the address from which it has come to rank 0, unless it names another.
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "comm/socket_domain.hpp"
#include "comm/stream_sockets.hpp"
#include "switchyard/socket_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {
namespace {

/// All addresses of a host, in the resolver's order; none, `why` and errno, where it knows none.
std::vector<socket_address> resolve(const std::string& host, const std::string& port, int flags, std::string& why) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  if (failure != 0) {
    why = "looking up " + host + ": " + ::gai_strerror(failure);
    errno = EHOSTUNREACH;
    return {};
  }
  std::vector<socket_address> addresses;
  for (const auto* each = found; each != nullptr; each = each->ai_next) {
    socket_address address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.bytes = each->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

/// All addresses of this host, of both families where it has IPv6.
unique_descriptor listen_everywhere(std::uint16_t port) {
  socket_address address;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  std::memcpy(&address.storage, &six, sizeof(six));
  address.bytes = sizeof(six);
  auto listener = listen_at(address);
  if (listener || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL)) return listener;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  address = {};
  std::memcpy(&address.storage, &four, sizeof(four));
  address.bytes = sizeof(four);
  return listen_at(address);
}

/// As numbers, an IPv4 address that IPv6 wraps without the wrapping: the other host may have no IPv6.
std::string host_of(const socket_address& address) {
  std::array<char, INET6_ADDRSTRLEN + IF_NAMESIZE> text{};
  (void)::getnameinfo(address.get(), address.bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  const std::string host(text.data());
  const std::string wrapping = "::ffff:";
  return host.starts_with(wrapping) ? host.substr(wrapping.size()) : host;
}

class tcp_domain final : public socket_domain {
 public:
  tcp_domain(const std::string& host, std::uint16_t port, const std::string& own_host)
      : host_(host), port_(port), own_host_(own_host) {
    if (host.empty()) throw invalid_argument("comm backend: host is empty, must be where rank 0 is");
    if (port == 0) throw invalid_argument("comm backend: port is 0, must be 1 .. 65535");
    if (own_host.size() > most_host_bytes) {
      throw invalid_argument("comm backend: own_host has " + std::to_string(own_host.size()) +
                             " bytes, must have at most " + std::to_string(most_host_bytes));
    }
  }

  [[nodiscard]] std::string rendezvous() const override { return "TCP " + host_ + " port " + std::to_string(port_); }
  [[nodiscard]] bool passes_descriptors() const noexcept override { return false; }

  unique_descriptor listen_at_rendezvous() override { return listen_everywhere(port_); }

  unique_descriptor connect_to_rendezvous(std::string& why) override {
    const auto addresses = resolve(host_, std::to_string(port_), AI_ADDRCONFIG, why);
    if (addresses.empty()) return {};
    return connect_one(addresses[next_address_++ % addresses.size()], why);
  }

  unique_descriptor listen() override {
    auto listener = listen_everywhere(0);
    if (!listener) throw unsupported("comm backend: " + reason_of("listening at a TCP port"));
    return listener;
  }

  [[nodiscard]] wire_address address_of(int listener) const override {
    return to_wire(own_host_ + " " + std::to_string(port_of(address_at(listener, peer_side::own))));
  }
  [[nodiscard]] wire_address as_seen(int connection, const wire_address& told) const override {
    const auto text = to_text(told);
    return text.starts_with(" ") ? to_wire(host_of(address_at(connection, peer_side::other)) + text) : told;
  }

  unique_descriptor connect_to(const wire_address& address, std::string& why) const override {
    const auto text = to_text(address);
    const auto gap = std::min(text.rfind(' '), text.size());
    const auto addresses = resolve(text.substr(0, gap), text.substr(std::min(gap + 1, text.size())), 0, why);
    return addresses.empty() ? unique_descriptor() : connect_one(addresses[0], why);
  }

  /// Anybody may come from anywhere: what tells ranks is the secret in their hello.
  [[nodiscard]] std::string distrust(int) const override { return {}; }

 private:
  static unique_descriptor connect_one(const socket_address& address, std::string& why) {
    auto socket = begin_connecting(address);
    if (!socket) why = reason_of("connect");
    return socket;
  }

  std::string host_;
  std::uint16_t port_;
  std::string own_host_;
  std::size_t next_address_ = 0;
};

}  // namespace

std::unique_ptr<socket_domain> make_tcp_domain(const std::string& host, std::uint16_t port,
                                               const std::string& own_host) {
  return std::make_unique<tcp_domain>(host, port, own_host);
}

}  // namespace switchyard::comm
