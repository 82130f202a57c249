// SPDX-License-Identifier: Apache-2.0
#include "injection/unchecked_fabric.hpp"

#include "injection/unchecked_host_kernels.hpp"

namespace switchyard::injection {

std::shared_ptr<fabric> make_unchecked_fabric(fabric_kind kind) {
  return kind == fabric_kind::cuda ? make_unchecked_cuda_fabric() : host::make_host_fabric(unchecked_host_kernels());
}

}  // namespace switchyard::injection
