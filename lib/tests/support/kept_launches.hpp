// SPDX-License-Identifier: Apache-2.0
// The host fabric with what a graph is on a GPU: launches that are kept as they were given, and replayed.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/host/host_fabric.hpp"

namespace switchyard::test {

/// Of one rank, for its thread: while it keeps, launches are kept and not run.
class launch_keeper {
 public:
  void keep(bool on) { keeps_ = on; }
  void give(std::function<void()> launch) {
    if (keeps_) return kept_.push_back(std::move(launch));
    launch();
  }
  /// Enqueues everything that was kept.
  void replay() const {
    for (const auto& launch : kept_) launch();
  }

 private:
  bool keeps_ = false;
  std::vector<std::function<void()>> kept_;
};

class keeping_workspace : public fabric_workspace {
 public:
  keeping_workspace(std::unique_ptr<fabric_workspace> right, std::shared_ptr<launch_keeper> keeper)
      : right_(std::move(right)), keeper_(std::move(keeper)) {}

  [[nodiscard]] std::byte* data() const noexcept override { return right_->data(); }
  void connect(comm_backend& backend, std::chrono::nanoseconds timeout) override { right_->connect(backend, timeout); }
  [[nodiscard]] launch_plan plan(const planned_step& step, stream_ref stream) const override {
    return right_->plan(step, stream);
  }
  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    keeper_->give([this, params, plan, stream] { right_->launch(params, plan, stream); });
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    keeper_->give([this, params, plan, stream] { right_->launch(params, plan, stream); });
  }
  void set_active_ranks(const rank_set& mask, stream_ref stream) override { right_->set_active_ranks(mask, stream); }
  [[nodiscard]] std::optional<recorded_fault> fault() const override { return right_->fault(); }
  void abort() override { right_->abort(); }
  void drain() noexcept override { right_->drain(); }
  [[nodiscard]] recoverable& recovery() override { return right_->recovery(); }

 private:
  std::unique_ptr<fabric_workspace> right_;
  std::shared_ptr<launch_keeper> keeper_;
};

class keeping_fabric : public fabric {
 public:
  explicit keeping_fabric(std::shared_ptr<launch_keeper> keeper) : keeper_(std::move(keeper)) {}

  [[nodiscard]] support available(int device) const override { return right_->available(device); }
  [[nodiscard]] fabric_kind stream_kind() const override { return right_->stream_kind(); }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::make_unique<keeping_workspace>(right_->open(request), keeper_);
  }

 private:
  std::shared_ptr<fabric> right_ = host::make_host_fabric();
  std::shared_ptr<launch_keeper> keeper_;
};

}  // namespace switchyard::test
