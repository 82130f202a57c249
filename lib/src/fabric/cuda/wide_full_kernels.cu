// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/phase_kernels.cuh"

namespace switchyard::cuda {

phase_kernels wide_full_kernels() { return kernels_of_blocks<wide_block, block_kind::full>(); }

}  // namespace switchyard::cuda
