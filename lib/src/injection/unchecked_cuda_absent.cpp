// SPDX-License-Identifier: Apache-2.0
// In a build without CUDA.
#include "fabric/cuda/cuda_fabric.hpp"
#include "injection/unchecked_fabric.hpp"

namespace switchyard::injection {

std::shared_ptr<fabric> make_unchecked_cuda_fabric() { return cuda::make_cuda_fabric(); }

}  // namespace switchyard::injection
