// SPDX-License-Identifier: Apache-2.0
// A rank's steps as CUDA graphs.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "../kept_views.hpp"
#include "../rank_device.hpp"
#include "gpu_lane.hpp"
#include "replay_kernels.hpp"

namespace switchyard::harness {

class gpu_replay final : public replaying_device {
 public:
  /// `block` has replay_bytes(spec) bytes of the lane's device, 64-byte aligned.
  gpu_replay(const case_spec& spec, int rank, gpu_lane& lane, std::byte* block);
  ~gpu_replay() override;
  gpu_replay(const gpu_replay&) = delete;
  gpu_replay& operator=(const gpu_replay&) = delete;

  std::size_t capture(const std::function<void()>& launches) override;
  void enqueue(const between_phases& between) override;
  void set_step(std::byte poison, std::chrono::nanoseconds pause) override;
  void replay(std::size_t graph) override;
  [[nodiscard]] dispatch_result kept(const dispatch_result& views) const override;

 private:
  const case_spec& spec_;
  gpu_lane& lane_;
  std::byte* block_;
  kept_views places_;
  std::int32_t first_expert_ = 0;
  std::int32_t num_owned_ = 0;
  std::vector<cudaGraphExec_t> graphs_;
};

}  // namespace switchyard::harness
