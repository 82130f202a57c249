// SPDX-License-Identifier: Apache-2.0
// Stands in for the CUDA fabric in a build without CUDA.
#include "fabric/cuda/cuda_fabric.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

constexpr const char* reason = "this library was built without its CUDA fabric: CUDA 13.0 or newer was not used";

class absent_fabric final : public fabric {
 public:
  [[nodiscard]] support available(int) const override { return {false, reason}; }
  [[nodiscard]] fabric_kind stream_kind() const override { return fabric_kind::cuda; }
  std::unique_ptr<fabric_workspace> open(const workspace_request&) override { throw unsupported(reason); }
};

}  // namespace

std::shared_ptr<fabric> make_cuda_fabric() { return std::make_shared<absent_fabric>(); }

}  // namespace switchyard::cuda
