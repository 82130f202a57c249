// SPDX-License-Identifier: Apache-2.0
// Whether a point's result is the golden model's.
#pragma once

#include "bench_group.hpp"

namespace switchyard::harness {

/// Compares with the golden model: all counts and ids of the views; hidden states, their scales, weights and outputs of
/// all tokens up to 256, of so manieth ones, the last one included, above. Nothing is timed.
class bench_check {
 public:
  bench_check(const bench_options& options, const bench_inputs& inputs, std::int64_t tokens);

  /// Runs one step, its experts' rows made in place, and compares views and outputs. Throws wrong_result.
  void run_step(bench_group& group);
  /// Compares the outputs as they are now. Throws wrong_result.
  void compare_outputs(bench_group& group);
  /// Overwrites the outputs, so that what compare_outputs then sees is new.
  void spoil_outputs(bench_group& group) const;

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::string describe() const;
  /// What the library chose for the step.
  [[nodiscard]] transport taken() const noexcept { return taken_; }
  [[nodiscard]] std::string taken_because() const { return std::string(taken_because_); }

 private:
  void compare_views(const timed_rank& on, const dispatch_result& views);
  [[nodiscard]] bool is_sampled(std::int64_t token) const noexcept {
    return token % stride_ == 0 || token == tokens_ - 1;
  }

  const bench_options& options_;
  const bench_inputs& inputs_;
  std::int64_t tokens_;
  std::int64_t stride_;
  std::vector<reference::rank_routing> routing_;
  std::vector<reference::dispatched_rank> golden_;
  std::uint64_t rows_ = 0;
  transport taken_ = transport::fence;
  std::string_view taken_because_;
};

}  // namespace switchyard::harness
