// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exact_rows.hpp"
#include "nccl_step.hpp"
#include "yardstick_kernels.hpp"

namespace switchyard::harness {

/// Exactly the routed rows travel, all payloads of a token side by side in one row. Counts are known beforehand: the
/// exchange of counts that a real step needs is not in its time.
class nccl_send_receive final : public nccl_step {
 public:
  nccl_send_receive(nccl_group& group, const bench_options& options, const bench_inputs& inputs, nccl_memory memory);

  void prepare(std::int64_t tokens) override;
  void dispatch(const timed_rank& one) override;
  void combine(const timed_rank& one) override;
  void spoil() override;
  [[nodiscard]] std::string check_dispatch() override;
  [[nodiscard]] std::string check_combine() override;

 private:
  /// What lies on one rank for the point at hand.
  struct tables {
    device_bytes packed_token;
    device_bytes packed_place;
    device_bytes summed_place;
    device_bytes owner_mask;
    device_bytes expected;  ///< what received_ must be
  };
  void fill_tables(const timed_rank& one);
  /// Grouped sends and receives: `sent[peer]` rows of each peer's segment, `received[peer]` the same.
  void exchange(const timed_rank& one, const std::byte* from, const std::vector<std::int64_t>& sent, std::byte* into,
                const std::vector<std::int64_t>& received, std::size_t row_bytes);
  [[nodiscard]] std::size_t row_limit() const;

  nccl_group& group_;
  const bench_options& options_;
  const bench_inputs& inputs_;
  std::array<row_piece, all_payloads.size()> pieces_{};  ///< without addresses
  std::size_t pitch_bytes_ = 0;
  std::size_t hidden_bytes_ = 0;
  std::int64_t tokens_ = 0;
  std::vector<device_bytes> payloads_;  ///< [rank * kinds + kind]
  nccl_buffers packed_;
  nccl_buffers received_;
  nccl_buffers rows_;      ///< of the experts, as received_ lies
  nccl_buffers returned_;  ///< as packed_ lies
  std::vector<device_bytes> output_;
  std::vector<exact_rows> exact_;
  std::vector<tables> tables_;
};

}  // namespace switchyard::harness
