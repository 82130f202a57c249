// SPDX-License-Identifier: Apache-2.0
// Starts and ends the process of one rank for a supervisor elsewhere; remote_rank.hpp has the messages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "child_process.hpp"
#include "control_channel.hpp"

namespace switchyard::harness {

class agent {
 public:
  /// `place` is the child's. The channel outlives this.
  agent(control_channel& supervisor, program_call program, const child_place& place)
      : supervisor_(supervisor), program_(std::move(program)), place_(place) {}

  /// Obeys `first`, then what comes, until the supervisor says finish. Throws channel_error when it is lost,
  /// environment_error when `stop_requested` says so.
  void serve(const std::vector<nlohmann::json>& first, const std::function<bool()>& stop_requested);

 private:
  void wait();
  /// False when it was the last.
  bool obey(const nlohmann::json& order);
  void look_after_child();
  void end_child(const std::string& how);

  control_channel& supervisor_;
  program_call program_;
  child_place place_;
  std::uint64_t life_ = 0;
  std::unique_ptr<child_process> child_;
  std::unique_ptr<control_channel> channel_;
  bool told_stopped_ = false;
};

}  // namespace switchyard::harness
