// SPDX-License-Identifier: Apache-2.0
#include "remote_rank.hpp"

#include <poll.h>

#include <string_view>

#include "messages.hpp"

namespace switchyard::harness {
namespace {

constexpr int kill_poll_ms = 50;

}  // namespace

remote_rank::~remote_rank() { tell({{"is", say::finish}}); }

void remote_rank::start() {
  if (agent_ == nullptr) throw channel_error("the process that starts it is gone");
  ++life_;
  started_ = true;
  stopped_ = false;
  end_.clear();
  words_.clear();
  tell({{"is", say::start}, {"life", life_}});
}

std::vector<int> remote_rank::descriptors() const {
  return agent_ == nullptr ? std::vector<int>() : std::vector{agent_->descriptor()};
}

std::vector<nlohmann::json> remote_rank::look() {
  std::vector<nlohmann::json> found;
  if (agent_ == nullptr) return found;
  try {
    for (auto& each : agent_->receive()) {
      if (each.at("life").get<std::uint64_t>() != life_) continue;  // of a process that was killed
      const auto is = each.at("is").get<std::string_view>();
      if (is == say::pass) {
        found.push_back(std::move(each.at("message")));
      } else if (is == say::ended) {
        words_ = each.at("words").get<std::string>();
        end_ = each.at("how").get<std::string>();
      } else if (is == say::stopped) {
        stopped_ = each.at("stopped").get<bool>();
      }
    }
  } catch (const std::exception& failure) {
    lose(failure.what());
  }
  return found;
}

void remote_rank::send(const nlohmann::json& message) {
  tell({{"is", say::pass}, {"life", life_}, {"message", message}});
}

void remote_rank::doom() {
  if (started_ && end_.empty()) tell({{"is", say::kill}, {"life", life_}});
}

void remote_rank::kill(std::chrono::steady_clock::time_point limit) {
  if (!started_) return;
  doom();
  while (agent_ != nullptr && end_.empty()) {
    pollfd one{agent_->descriptor(), POLLIN, 0};
    (void)::poll(&one, 1, kill_poll_ms);
    (void)look();
    if (end_.empty() && std::chrono::steady_clock::now() > limit) lose("it does not answer");
  }
  started_ = false;
}

void remote_rank::tell(const nlohmann::json& message) {
  if (agent_ == nullptr) return;
  try {
    agent_->send(message);
  } catch (const channel_error& failure) {
    lose(failure.what());
  }
}

void remote_rank::lose(const std::string& why) {
  agent_ = nullptr;
  end_ = "cannot be reached any more (" + why + ")";
}

}  // namespace switchyard::harness
