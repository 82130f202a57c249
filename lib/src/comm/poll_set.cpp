// SPDX-License-Identifier: Apache-2.0
#include "comm/poll_set.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {

void poll_set::watch(int descriptor, short events, std::function<void()> serve) {
  descriptors_.push_back({descriptor, events, 0});
  servers_.push_back(std::move(serve));
}

void poll_set::wake_after(std::chrono::nanoseconds pause) { pause_ = std::min(pause_, pause); }

void poll_set::wait(const deadline& until) {
  const auto left = std::min(until.remaining(), pause_);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  timespec patience{};
  patience.tv_sec = static_cast<time_t>(seconds.count());
  patience.tv_nsec = static_cast<long>((left - seconds).count());
  const int ready = ::ppoll(descriptors_.data(), descriptors_.size(), &patience, nullptr);
  if (ready < 0 && errno != EINTR) throw error(std::string("comm backend: ppoll: ") + std::strerror(errno));
  for (std::size_t i = 0; ready > 0 && i < servers_.size(); ++i) {
    if (descriptors_[i].revents != 0) servers_[i]();
  }
}

}  // namespace switchyard::comm
