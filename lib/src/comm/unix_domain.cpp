// SPDX-License-Identifier: Apache-2.0
// Unix sockets, named in the abstract namespace: a name ends with the process that listens there, so a run that was
// killed leaves nothing behind (decision 019). Anybody on the host may take a name, or connect to it, so both sides
// look whose process the other is.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "comm/group_identity.hpp"
#include "comm/socket_domain.hpp"
#include "comm/stream_sockets.hpp"
#include "switchyard/socket_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {
namespace {

constexpr char name_prefix[] = "switchyard/";

socket_address abstract_address(const std::string& name) {
  socket_address address;
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path + 1, name.data(), std::min(name.size(), sizeof(where.sun_path) - 1));
  std::memcpy(&address.storage, &where, sizeof(where));
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

class unix_domain final : public socket_domain {
 public:
  explicit unix_domain(const std::string& name) : name_(name_prefix + name) {
    if (name.empty() || name.size() > most_unix_name_bytes) {
      throw invalid_argument("comm backend: the rendezvous name has " + std::to_string(name.size()) +
                             " bytes, must have 1 .. " + std::to_string(most_unix_name_bytes));
    }
  }

  [[nodiscard]] std::string rendezvous() const override { return "abstract unix socket " + name_; }
  [[nodiscard]] bool passes_descriptors() const noexcept override { return true; }

  unique_descriptor listen_at_rendezvous() override { return listen_at(abstract_address(name_)); }

  unique_descriptor connect_to_rendezvous(std::string& why) override { return connect_to_name(name_, why); }

  /// A name that nobody can foresee, and so nobody has taken.
  unique_descriptor listen() override {
    const auto id = new_group_id();
    std::array<char, 40> random{};
    std::snprintf(random.data(), random.size(), "%016llx%016llx", static_cast<unsigned long long>(id[0]),
                  static_cast<unsigned long long>(id[1]));
    auto listener = listen_at(abstract_address(name_prefix + std::string(random.data())));
    if (!listener) throw unsupported("comm backend: " + reason_of("bind to an abstract unix socket"));
    return listener;
  }

  [[nodiscard]] wire_address address_of(int listener) const override {
    const auto address = address_at(listener, peer_side::own);
    sockaddr_un where{};
    std::memcpy(&where, &address.storage, sizeof(where));
    const auto bytes = address.bytes - offsetof(sockaddr_un, sun_path) - 1;
    return to_wire({where.sun_path + 1, bytes});
  }
  [[nodiscard]] wire_address as_seen(int, const wire_address& told) const override { return told; }

  unique_descriptor connect_to(const wire_address& address, std::string& why) const override {
    return connect_to_name(to_text(address), why);
  }

  [[nodiscard]] std::string distrust(int connection) const override {
    ucred peer{};
    socklen_t bytes = sizeof(peer);
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return reason_of("SO_PEERCRED");
    if (peer.uid == ::geteuid()) return {};
    return "a process of user " + std::to_string(peer.uid) + " is there, must be of user " +
           std::to_string(::geteuid());
  }

 private:
  static unique_descriptor connect_to_name(const std::string& name, std::string& why) {
    auto socket = begin_connecting(abstract_address(name));
    if (!socket) why = reason_of("connect");
    return socket;
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<socket_domain> make_unix_domain(const std::string& name) { return std::make_unique<unix_domain>(name); }

}  // namespace switchyard::comm
