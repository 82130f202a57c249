// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/driver_api.hpp"

#include <unistd.h>

#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

constexpr unsigned int oldest_version = 12000;  // of the entry points' signatures, as cuda.h 13 declares them

template <class Function>
void load(Function& entry, const char* name, std::string& reason) {
  if (!reason.empty()) return;
  void* found = nullptr;
  auto answer = cudaDriverEntryPointSymbolNotFound;
  const auto result = cudaGetDriverEntryPointByVersion(name, &found, oldest_version, cudaEnableDefault, &answer);
  if (result != cudaSuccess) {
    (void)cudaGetLastError();  // an absent driver must not look like an error of the caller's next call
    reason = std::string("no usable CUDA driver: ") + cudaGetErrorString(result);
  } else if (answer != cudaDriverEntryPointSuccess || found == nullptr) {
    reason = std::string("the CUDA driver has no ") + name;
  } else {
    entry = reinterpret_cast<Function>(found);
  }
}

cudaError_t identity_of(cudaUUID_t* identity, int device) {
  cudaDeviceProp properties{};
  const auto result = cudaGetDeviceProperties(&properties, device);
  if (result == cudaSuccess) *identity = properties.uuid;
  return result;
}

struct driver_in_storage {
  driver_api api;
  loaded_driver result;

  driver_in_storage() {
    auto& reason = result.reason;
    load(api.get_granularity, "cuMemGetAllocationGranularity", reason);
    load(api.reserve_addresses, "cuMemAddressReserve", reason);
    load(api.free_addresses, "cuMemAddressFree", reason);
    load(api.create, "cuMemCreate", reason);
    load(api.release, "cuMemRelease", reason);
    load(api.map, "cuMemMap", reason);
    load(api.unmap, "cuMemUnmap", reason);
    load(api.set_access, "cuMemSetAccess", reason);
    load(api.export_handle, "cuMemExportToShareableHandle", reason);
    load(api.import_handle, "cuMemImportFromShareableHandle", reason);
    load(api.error_name, "cuGetErrorName", reason);
    api.can_access_peer = &cudaDeviceCanAccessPeer;
    api.gpu_identity = &identity_of;
    api.close_descriptor = &close;
    if (reason.empty()) result.api = &api;
  }
};

}  // namespace

const loaded_driver& load_driver() {
  static const driver_in_storage loaded;
  return loaded.result;
}

void check(const driver_api& api, CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (api.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  const auto message = std::string(what) + ": " + name;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw out_of_memory(message);
  throw cuda_error(message);
}

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  const auto message = std::string(what) + ": " + cudaGetErrorName(result) + ", " + cudaGetErrorString(result);
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // not sticky: the next call of the caller's is not to blame
    throw out_of_memory(message);
  }
  throw cuda_error(message);
}

}  // namespace switchyard::cuda
