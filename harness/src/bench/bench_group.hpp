// SPDX-License-Identifier: Apache-2.0
// The ranks of the bench: timed ranks with warm, fixed buffers and, for each way of a step, an instance of the library.
#pragma once

#include <memory>
#include <vector>

#include "bench_inputs.hpp"
#include "switchyard/one_sided_all_to_all.hpp"
#include "timed_ranks.hpp"

namespace switchyard::harness {

/// What one rank has of the library.
struct bench_rank {
  std::array<device_bytes, all_payloads.size()> payloads{};  ///< inputs
  device_bytes output;
  std::vector<std::unique_ptr<one_sided_all_to_all>> instances;  ///< in the order of the ways
};

/// Where a step reads its inputs and writes its outputs: the fixed buffers, or others of the same form.
struct step_buffers {
  std::array<const std::byte*, all_payloads.size()> payloads{};
  std::byte* output = nullptr;
};

class bench_group final : public timed_ranks {
 public:
  bench_group(const bench_options& options, const bench_inputs& inputs);
  ~bench_group() override;

  [[nodiscard]] const bench_rank& of(const timed_rank& one) const {
    return library_[static_cast<std::size_t>(one.rank)];
  }
  [[nodiscard]] std::size_t row_bytes(payload_kind kind) const noexcept {
    return row_bytes_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::size_t output_row_bytes() const noexcept;
  [[nodiscard]] step_buffers fixed_buffers(const timed_rank& one) const;
  /// The options' ways_of().
  [[nodiscard]] const std::vector<bench_way>& ways() const noexcept { return ways_; }
  /// From now on phases go by the way of that place. Not while other threads enqueue.
  void use(std::size_t way) noexcept { used_ = way; }
  [[nodiscard]] one_sided_all_to_all& instance(const timed_rank& on) const { return *of(on).instances[used_]; }
  /// Enqueues the phase on the rank's stream. Views and experts' rows lie where they always lie.
  dispatch_result dispatch(const timed_rank& on, std::int64_t tokens, const step_buffers& buffers);
  void combine(const timed_rank& on, std::int64_t tokens, const step_buffers& buffers);
  /// Throws peer_fault too, when an instance has a fault.
  void synchronize() override;

 private:
  void connect(const bench_way& way);

  const bench_options& options_;
  std::vector<bench_way> ways_;
  std::array<std::size_t, all_payloads.size()> row_bytes_{};
  std::vector<bench_rank> library_;
  std::size_t used_ = 0;
};

}  // namespace switchyard::harness
