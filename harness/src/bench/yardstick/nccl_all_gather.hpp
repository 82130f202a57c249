// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nccl_step.hpp"
#include "yardstick_kernels.hpp"

namespace switchyard::harness {

/// Every rank gets every token: one block of all payloads, all-gathered in one call. The experts' rows of all tokens,
/// zeros where the rank owns none of a token's experts, are reduce-scattered.
class nccl_all_gather final : public nccl_step {
 public:
  nccl_all_gather(nccl_group& group, const bench_options& options, const bench_inputs& inputs, nccl_memory memory);

  void prepare(std::int64_t tokens) override;
  void dispatch(const timed_rank& one) override;
  void combine(const timed_rank& one) override;
  void spoil() override;
  [[nodiscard]] std::string check_dispatch() override;
  [[nodiscard]] std::string check_combine() override;

 private:
  [[nodiscard]] std::size_t block_bytes(std::int64_t tokens) const;
  [[nodiscard]] std::size_t output_bytes() const;

  nccl_group& group_;
  const bench_options& options_;
  const bench_inputs& inputs_;
  std::int64_t tokens_ = 0;
  nccl_buffers block_;     ///< of a rank's tokens
  nccl_buffers gathered_;  ///< blocks of all ranks
  nccl_buffers rows_;      ///< [ranks * tokens, hidden] of the experts
  nccl_buffers output_;
  std::vector<device_bytes> expected_;  ///< what gathered_ must be
  std::vector<device_bytes> owner_mask_;
};

}  // namespace switchyard::harness
