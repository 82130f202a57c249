// SPDX-License-Identifier: Apache-2.0
// One step of a scheme: what its ranks enqueue, and whether the result is right.
#pragma once

#include <memory>
#include <string>

#include "../bench_inputs.hpp"
#include "nccl_group.hpp"

namespace switchyard::harness {

class nccl_step {
 public:
  virtual ~nccl_step() = default;
  /// Makes a point ready: tables, expected rows, what the experts return. The ranks are idle, here and in the others.
  virtual void prepare(std::int64_t tokens) = 0;
  /// Enqueue on the rank's stream. Of every rank on a thread of its own, or NCCL would wait for ranks to come.
  virtual void dispatch(const timed_rank& one) = 0;
  virtual void combine(const timed_rank& one) = 0;
  /// Overwrites what dispatch and combine write.
  virtual void spoil() = 0;
  /// Empty when what dispatch wrote is right, on every rank and every byte; else what is wrong.
  [[nodiscard]] virtual std::string check_dispatch() = 0;
  [[nodiscard]] virtual std::string check_combine() = 0;
};

std::unique_ptr<nccl_step> make_nccl_step(nccl_scheme scheme, nccl_group& group, const bench_options& options,
                                          const bench_inputs& inputs, nccl_memory memory);

}  // namespace switchyard::harness
