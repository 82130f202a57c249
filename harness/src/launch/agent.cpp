// SPDX-License-Identifier: Apache-2.0
#include "agent.hpp"

#include <poll.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "messages.hpp"
#include "switchyard/harness/machine.hpp"

namespace switchyard::harness {
namespace {

constexpr int agent_look_ms = 200;
constexpr std::chrono::seconds child_end_limit{5};

}  // namespace

void agent::serve(const std::vector<nlohmann::json>& first, const std::function<bool()>& stop_requested) {
  for (auto orders = first;; orders = supervisor_.receive()) {
    for (const auto& order : orders) {
      if (!obey(order)) return;
    }
    if (stop_requested && stop_requested()) throw environment_error("stopped");
    wait();
    look_after_child();
  }
}

void agent::wait() {
  std::array<pollfd, 3> all{{{supervisor_.descriptor(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
  if (channel_ != nullptr) all[1].fd = channel_->descriptor();
  if (child_ != nullptr) all[2].fd = child_->output();
  (void)::poll(all.data(), all.size(), agent_look_ms);
}

bool agent::obey(const nlohmann::json& order) {
  const auto is = order.at("is").get<std::string_view>();
  if (is == say::finish) return false;
  const auto life = order.at("life").get<std::uint64_t>();
  if (is == say::start) {
    life_ = life;
    told_stopped_ = false;
    try {
      child_ = std::make_unique<child_process>(program_, place_);
      channel_ = std::make_unique<control_channel>(child_->take_control());
    } catch (const channel_error& failure) {
      end_child(failure.what());
    }
  } else if (life != life_ || child_ == nullptr) {
    // What was said to a process that has ended.
  } else if (is == say::kill) {
    child_->kill(std::chrono::steady_clock::now() + child_end_limit);
    end_child("was ended");
  } else if (is == say::pass && channel_ != nullptr) {
    try {
      channel_->send(order.at("message"));
    } catch (const channel_error&) {
      channel_ = nullptr;
    }
  }
  return true;
}

void agent::look_after_child() {
  if (child_ == nullptr) return;
  child_->pass_output();
  if (channel_ != nullptr) {
    try {
      for (auto& message : channel_->receive()) {
        supervisor_.send({{"is", say::pass}, {"life", life_}, {"message", std::move(message)}});
      }
    } catch (const channel_error&) {
      channel_ = nullptr;
    }
  }
  // Only when all that it has said has been passed on.
  if (channel_ == nullptr) {
    if (const auto how = child_->look_for_end()) return end_child(*how);
  }
  if (const bool stopped = child_->is_stopped(); stopped != told_stopped_) {
    told_stopped_ = stopped;
    supervisor_.send({{"is", say::stopped}, {"life", life_}, {"stopped", stopped}});
  }
}

void agent::end_child(const std::string& how) {
  const std::string words = child_ == nullptr ? "" : child_->last_line();
  child_ = nullptr;
  channel_ = nullptr;
  supervisor_.send({{"is", say::ended}, {"life", life_}, {"how", how}, {"words", words}});
}

}  // namespace switchyard::harness
