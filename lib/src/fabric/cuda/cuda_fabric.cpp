// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/cuda_fabric.hpp"

#include <string>

#include "fabric/cuda/cuda_workspace.hpp"
#include "fabric/cuda/driver_api.hpp"

namespace switchyard::cuda {
namespace {

support refused(std::string reason) { return {false, std::move(reason)}; }

/// Why the runtime cannot be used at all, or nothing. Leaves no error behind for the caller's next call.
std::string runtime_problem(int& num_devices) {
  const auto result = cudaGetDeviceCount(&num_devices);
  if (result == cudaSuccess) return {};
  (void)cudaGetLastError();
  return std::string("no CUDA device can be used: ") + cudaGetErrorString(result);
}

support check_device(int device) {
  int num_devices = 0;
  if (auto problem = runtime_problem(num_devices); !problem.empty()) return refused(std::move(problem));
  if (device < 0 || device >= num_devices) {
    return refused("device is " + std::to_string(device) + ", must be 0 .. " + std::to_string(num_devices - 1));
  }
  if (const auto& driver = load_driver(); driver.api == nullptr) return refused(driver.reason);
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
  };
  const int major = attribute(cudaDevAttrComputeCapabilityMajor);
  const int minor = attribute(cudaDevAttrComputeCapabilityMinor);
  if (major < 9) {
    return refused("device " + std::to_string(device) + " has compute capability " + std::to_string(major) + "." +
                   std::to_string(minor) + ", must have at least 9.0");
  }
  if (attribute(cudaDevAttrCanMapHostMemory) == 0) {
    return refused("device " + std::to_string(device) + " cannot map memory of the host");
  }
  return {true, {}};
}

class cuda_fabric final : public fabric {
 public:
  explicit cuda_fabric(const kernel_set& kernels) : kernels_(kernels) {}

  [[nodiscard]] support available(int device) const override { return check_device(device); }
  [[nodiscard]] fabric_kind stream_kind() const override { return fabric_kind::cuda; }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return make_workspace(*load_driver().api, kernels_, request);
  }

 private:
  kernel_set kernels_;
};

}  // namespace

std::shared_ptr<fabric> make_cuda_fabric() { return make_cuda_fabric(library_kernels()); }

std::shared_ptr<fabric> make_cuda_fabric(const kernel_set& kernels) { return std::make_shared<cuda_fabric>(kernels); }

}  // namespace switchyard::cuda
