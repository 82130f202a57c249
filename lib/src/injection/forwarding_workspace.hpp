// SPDX-License-Identifier: Apache-2.0
// A workspace that passes everything on to another one: what decorators of a fabric start from.
#pragma once

#include <memory>
#include <utility>

#include "fabric/fabric.hpp"

namespace switchyard::injection {

class forwarding_workspace : public fabric_workspace {
 public:
  explicit forwarding_workspace(std::unique_ptr<fabric_workspace> right) : right_(std::move(right)) {}

  [[nodiscard]] std::byte* data() const noexcept override { return right_->data(); }
  void connect(comm_backend& backend, std::chrono::nanoseconds timeout) override { right_->connect(backend, timeout); }
  [[nodiscard]] launch_plan plan(const planned_step& step, stream_ref stream) const override {
    return right_->plan(step, stream);
  }
  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    right_->launch(params, plan, stream);
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    right_->launch(params, plan, stream);
  }
  void set_active_ranks(const rank_set& mask, stream_ref stream) override { right_->set_active_ranks(mask, stream); }
  [[nodiscard]] std::optional<recorded_fault> fault() const override { return right_->fault(); }
  void abort() override { right_->abort(); }
  void drain() noexcept override { right_->drain(); }
  void forget_stream() noexcept override { right_->forget_stream(); }
  [[nodiscard]] recoverable& recovery() override { return right_->recovery(); }

 protected:
  [[nodiscard]] fabric_workspace& right() const noexcept { return *right_; }

 private:
  std::unique_ptr<fabric_workspace> right_;
};

}  // namespace switchyard::injection
