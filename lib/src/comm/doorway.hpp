// SPDX-License-Identifier: Apache-2.0
// A listener, and those who have connected but not yet said a whole hello.
#pragma once

#include <array>
#include <functional>
#include <list>

#include "comm/poll_set.hpp"
#include "comm/socket_domain.hpp"
#include "comm/wire.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard::comm {

class doorway {
 public:
  /// `welcome` is called with every hello that has the magic, from a process that is not distrusted.
  using host = std::function<void(const hello&, unique_descriptor)>;
  doorway(const socket_domain& domain, unique_descriptor listener, host welcome)
      : domain_(domain), listener_(std::move(listener)), welcome_(std::move(welcome)) {}

  void watch(poll_set& polls);
  /// How many came that were no ranks: strangers by their hello, their user, or because they left again.
  [[nodiscard]] int num_strangers() const noexcept { return num_strangers_; }

 private:
  struct visitor {
    unique_descriptor socket;
    std::array<std::byte, sizeof(hello)> heard{};
    std::size_t num_heard = 0;
  };
  void let_in();
  void hear(std::list<visitor>::iterator who);
  void turn_away(std::list<visitor>::iterator who);

  const socket_domain& domain_;
  unique_descriptor listener_;
  host welcome_;
  std::list<visitor> visitors_;
  int num_strangers_ = 0;
};

}  // namespace switchyard::comm
