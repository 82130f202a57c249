// SPDX-License-Identifier: Apache-2.0
// A workspace on the host whose way through recover() and checkpoints goes by a decorator, which may refuse a part of
// it or count.
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "injection/capturing_host_fabric.hpp"

namespace switchyard::injection {

/// As it stands it changes nothing.
class recovery_decorator : public forwarding_workspace, protected recoverable {
 public:
  explicit recovery_decorator(std::unique_ptr<fabric_workspace> right) : forwarding_workspace(std::move(right)) {}
  [[nodiscard]] recoverable& recovery() final { return *this; }

 protected:
  [[nodiscard]] bool drain_for(std::chrono::nanoseconds timeout) override {
    return right().recovery().drain_for(timeout);
  }
  [[nodiscard]] round_position position() const override { return right().recovery().position(); }
  [[nodiscard]] resting_state rest() const override { return right().recovery().rest(); }
  void release_memory() override { right().recovery().release_memory(); }
  [[nodiscard]] rank_set keep_out(const rank_set& left_out, std::chrono::nanoseconds timeout) override {
    return right().recovery().keep_out(left_out, timeout);
  }
  void restart(const fresh_start& start, const rank_meeting& meeting) override {
    right().recovery().restart(start, meeting);
  }
  void open_again(std::chrono::nanoseconds timeout) override { right().recovery().open_again(timeout); }
};

/// The host fabric with `Workspace`, made of the right one and `arguments`, in place of its own.
template <class Workspace, class... Arguments>
class decorated_host_fabric final : public capturing_host_fabric {
 public:
  explicit decorated_host_fabric(Arguments... arguments)
      : capturing_host_fabric(std::make_shared<launch_recorder>()), arguments_(std::move(arguments)...) {}
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::apply(
        [&](const auto&... all) {
          return std::make_unique<Workspace>(host::make_host_fabric()->open(request), all...);
        },
        arguments_);
  }

 private:
  std::tuple<Arguments...> arguments_;
};

}  // namespace switchyard::injection
