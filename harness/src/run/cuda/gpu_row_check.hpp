// SPDX-License-Identifier: Apache-2.0
// A rank's checker on its GPU: it is given whose row stands where, and nothing of what the rows hold.
#pragma once

#include "../rank_device.hpp"
#include "gpu_lane.hpp"

namespace switchyard::harness {

class gpu_row_check {
 public:
  /// `block` has row_check_bytes(spec) bytes of the lane's device, 64-byte aligned.
  gpu_row_check(const case_spec& spec, gpu_lane& lane, std::byte* block);

  /// Of hidden states, scales and extra payloads; ids and weights are left to the CPU.
  rank_device::row_checks check(const step_inputs& inputs, std::uint64_t seed, int rank, const dispatch_result& views);

 private:
  const case_spec& spec_;
  gpu_lane& lane_;
  std::byte* found_;
  std::byte* tokens_;
};

}  // namespace switchyard::harness
