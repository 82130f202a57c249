// SPDX-License-Identifier: Apache-2.0
// The driver's virtual memory management, reached by name at run time: a program that links the library starts on a
// machine without a driver. Tests put functions of their own into the struct.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

namespace switchyard::cuda {

struct driver_api {
  decltype(&cuMemGetAllocationGranularity) get_granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve_addresses = nullptr;
  decltype(&cuMemAddressFree) free_addresses = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuMemExportToShareableHandle) export_handle = nullptr;
  decltype(&cuMemImportFromShareableHandle) import_handle = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;
  decltype(&cudaDeviceCanAccessPeer) can_access_peer = nullptr;
  cudaError_t (*gpu_identity)(cudaUUID_t* identity, int device) = nullptr;  ///< the same in every process
  int (*close_descriptor)(int) = nullptr;
};

/// The driver's entry points, or why they cannot be had. Loaded once; `api` is null when `reason` is not empty.
struct loaded_driver {
  const driver_api* api = nullptr;
  std::string reason;
};
const loaded_driver& load_driver();

/// Throws out_of_memory or cuda_error, naming `what` and the driver's word for the error.
void check(const driver_api& api, CUresult result, const char* what);

/// The same for the runtime.
void check(cudaError_t result, const char* what);

}  // namespace switchyard::cuda
