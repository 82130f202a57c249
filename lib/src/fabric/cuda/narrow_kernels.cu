// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/phase_kernels.cuh"

namespace switchyard::cuda {

phase_kernels narrow_kernels() { return kernels_of_blocks<narrow_block, block_kind::full>(); }

}  // namespace switchyard::cuda
