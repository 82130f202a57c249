// SPDX-License-Identifier: Apache-2.0
// The process of a rank that the supervisor has started itself.
#pragma once

#include <memory>

#include "child_process.hpp"
#include "control_channel.hpp"
#include "rank_link.hpp"

namespace switchyard::harness {

class local_rank final : public rank_link {
 public:
  local_rank(program_call program, const child_place& place) : program_(std::move(program)), place_(place) {}

  void start() override {
    child_ = std::make_unique<child_process>(program_, place_);
    channel_ = std::make_unique<control_channel>(child_->take_control());
    end_.clear();
  }
  [[nodiscard]] bool lives() const override { return child_ != nullptr && end_.empty(); }
  [[nodiscard]] const std::string& end() const override { return end_; }
  [[nodiscard]] bool is_stopped() const override { return lives() && child_->is_stopped(); }
  [[nodiscard]] std::string last_words() const override { return child_ == nullptr ? "" : child_->last_line(); }

  [[nodiscard]] std::vector<int> descriptors() const override {
    std::vector<int> found;
    if (channel_ != nullptr) found.push_back(channel_->descriptor());
    if (child_ != nullptr && child_->output() >= 0) found.push_back(child_->output());
    return found;
  }

  std::vector<nlohmann::json> look() override {
    if (child_ == nullptr) return {};
    child_->pass_output();
    std::vector<nlohmann::json> messages;
    if (channel_ != nullptr) {
      try {
        messages = channel_->receive();
      } catch (const garbled_channel& failure) {
        channel_ = nullptr;
        end_ = std::string("was ended: ") + failure.what();
        child_->doom();
      } catch (const channel_error&) {  // then it has ended, or is about to
        channel_ = nullptr;
      }
    }
    // Only when all that it has said is heard.
    if (channel_ == nullptr && end_.empty()) end_ = child_->look_for_end().value_or("");
    return messages;
  }

  void send(const nlohmann::json& message) override {
    if (channel_ == nullptr) return;
    try {
      channel_->send(message);
    } catch (const channel_error&) {
      channel_ = nullptr;
    }
  }

  void doom() override {
    if (child_ != nullptr) child_->doom();
  }

  void kill(std::chrono::steady_clock::time_point limit) override {
    if (child_ == nullptr) return;
    child_->kill(limit);
    (void)look();
    child_ = nullptr;
    channel_ = nullptr;
  }

 private:
  program_call program_;
  child_place place_;
  std::unique_ptr<child_process> child_;
  std::unique_ptr<control_channel> channel_;  // null when the process does not speak any more
  std::string end_;
};

}  // namespace switchyard::harness
