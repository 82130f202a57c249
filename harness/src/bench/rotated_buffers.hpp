// SPDX-License-Identifier: Apache-2.0
// Copies of inputs and outputs, taken in turn so that none is in the second-level cache when it is used.
#pragma once

#include "bench_group.hpp"

namespace switchyard::harness {

class rotated_buffers {
 public:
  /// Inputs are those of the group. Its streams must be idle, here and at the end.
  rotated_buffers(bench_group& group, const bench_options& options, std::int64_t tokens);

  [[nodiscard]] step_buffers of(const timed_rank& one, int step) const;
  /// Writes over each GPU's cache. Enqueues on the ranks' streams.
  void empty_caches();
  /// Throws wrong_result when an output differs from the group's fixed one.
  void require_outputs(std::int64_t tokens);

 private:
  struct rank_copies {
    device_bytes memory;
    device_bytes scratch;
    std::size_t scratch_bytes = 0;
    std::vector<step_buffers> copies;
  };

  bench_group& group_;
  std::vector<rank_copies> ranks_;
};

}  // namespace switchyard::harness
