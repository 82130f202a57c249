// SPDX-License-Identifier: Apache-2.0
#include "nccl_step.hpp"

#include "nccl_all_gather.hpp"
#include "nccl_send_receive.hpp"

namespace switchyard::harness {

std::unique_ptr<nccl_step> make_nccl_step(nccl_scheme scheme, nccl_group& group, const bench_options& options,
                                          const bench_inputs& inputs, nccl_memory memory) {
  if (scheme == nccl_scheme::all_gather) return std::make_unique<nccl_all_gather>(group, options, inputs, memory);
  return std::make_unique<nccl_send_receive>(group, options, inputs, memory);
}

}  // namespace switchyard::harness
