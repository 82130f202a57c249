// SPDX-License-Identifier: Apache-2.0
// Who makes a collective call, and until when they wait for one another.
#pragma once

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/comm_backend.hpp"

namespace switchyard {

class rank_meeting {
 public:
  /// `call`: what the ranks do together, for messages. `ranks`: of the group, by their places in `backend`, which
  /// outlives the meeting.
  rank_meeting(std::string call, comm_backend& backend, std::vector<int> ranks, std::chrono::nanoseconds timeout)
      : call_(std::move(call)),
        backend_(backend),
        ranks_(std::move(ranks)),
        deadline_(std::chrono::steady_clock::now() + timeout) {}
  /// Of all ranks of a backend.
  rank_meeting(std::string call, comm_backend& backend, std::chrono::nanoseconds timeout)
      : rank_meeting(std::move(call), backend, std::vector<int>(static_cast<std::size_t>(backend.size())), timeout) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
  }

  [[nodiscard]] const std::string& call() const noexcept { return call_; }
  [[nodiscard]] comm_backend& backend() const noexcept { return backend_; }
  [[nodiscard]] const std::vector<int>& ranks() const noexcept { return ranks_; }
  [[nodiscard]] std::chrono::nanoseconds remaining() const {
    return std::max<std::chrono::nanoseconds>(deadline_ - std::chrono::steady_clock::now(),
                                              std::chrono::nanoseconds(0));
  }

 private:
  std::string call_;
  comm_backend& backend_;
  std::vector<int> ranks_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace switchyard
