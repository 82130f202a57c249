// SPDX-License-Identifier: Apache-2.0
// Wide kernels that do not compare headers, and the fabric that runs them.
#include "fabric/cuda/cuda_fabric.hpp"
#include "fabric/cuda/phase_kernels.cuh"
#include "injection/unchecked_fabric.hpp"

namespace switchyard::injection {

std::shared_ptr<fabric> make_unchecked_cuda_fabric() {
  auto kernels = cuda::library_kernels();
  kernels.wide = cuda::kernels_of_blocks<cuda::wide_block, cuda::block_kind::unchecked>();
  return cuda::make_cuda_fabric(kernels);
}

}  // namespace switchyard::injection
