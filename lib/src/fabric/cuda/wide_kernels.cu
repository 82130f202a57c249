// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/phase_kernels.cuh"

namespace switchyard::cuda {

phase_kernels wide_kernels() { return kernels_of_blocks<wide_block, block_kind::plain>(); }

}  // namespace switchyard::cuda
