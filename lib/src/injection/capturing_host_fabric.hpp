// SPDX-License-Identifier: Apache-2.0
// The host fabric with what a graph is on a GPU: launches that are kept as they were given and run when they are
// replayed. A workspace has its rounds in its memory, so a launch that is kept must not know which one it is.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/host/host_fabric.hpp"
#include "injection/forwarding_workspace.hpp"

namespace switchyard::injection {

using kept_launches = std::vector<std::function<void()>>;
/// Enqueues everything that was kept, in the order in which it was given.
inline void replay(const kept_launches& graph) {
  for (const auto& launch : graph) launch();
}

/// Of one rank, for its thread.
class launch_recorder {
 public:
  void begin() { keeping_ = std::make_unique<kept_launches>(); }
  kept_launches end() { return std::move(*std::exchange(keeping_, nullptr)); }
  /// Calls `launch` now, or, during a capture, keeps it.
  void give(std::function<void()> launch) {
    if (keeping_ == nullptr) {
      launch();
    } else {
      keeping_->push_back(std::move(launch));
    }
  }

 private:
  std::unique_ptr<kept_launches> keeping_;
};

class capturing_workspace : public forwarding_workspace {
 public:
  capturing_workspace(std::unique_ptr<fabric_workspace> right, std::shared_ptr<launch_recorder> recorder)
      : forwarding_workspace(std::move(right)), recorder_(std::move(recorder)) {}

  // The workspace outlives what is kept: a rank destroys its end before its device, and replays nothing after.
  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    recorder_->give([this, params, plan, stream] { right().launch(params, plan, stream); });
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    recorder_->give([this, params, plan, stream] { right().launch(params, plan, stream); });
  }
  void set_active_ranks(const rank_set& mask, stream_ref stream) override {
    recorder_->give([this, mask, stream] { right().set_active_ranks(mask, stream); });
  }

 private:
  std::shared_ptr<launch_recorder> recorder_;
};

class capturing_host_fabric : public fabric {
 public:
  explicit capturing_host_fabric(std::shared_ptr<launch_recorder> recorder,
                                 host::host_kernels kernels = host::production_kernels())
      : right_(host::make_host_fabric(std::move(kernels))), recorder_(std::move(recorder)) {}
  [[nodiscard]] support available(int device) const override { return right_->available(device); }
  [[nodiscard]] fabric_kind stream_kind() const override { return right_->stream_kind(); }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::make_unique<capturing_workspace>(right_->open(request), recorder_);
  }

 private:
  std::shared_ptr<fabric> right_;
  std::shared_ptr<launch_recorder> recorder_;
};

}  // namespace switchyard::injection
