// SPDX-License-Identifier: Apache-2.0
// A driver without a device: keeps books of what is created, mapped, reserved and opened, and fails on request.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "fabric/cuda/driver_api.hpp"

namespace switchyard::test {

/// What the driver functions below do and have done. One at a time per process; all calls are thread-safe.
class mock_driver {
 public:
  mock_driver() { current() = this; }
  ~mock_driver() { current() = nullptr; }
  mock_driver(const mock_driver&) = delete;
  mock_driver& operator=(const mock_driver&) = delete;

  std::uint64_t granularity = 1 << 16;
  bool fabric_attribute_lies = true;                   ///< fabric handles: the attribute is set, allocation is refused
  std::set<std::pair<int, int>> pairs_without_access;  ///< (device, peer device)
  std::string fail_at;                                 ///< name of the operation that fails ...
  int fail_after = 0;                                  ///< ... once this many of it have succeeded
  int failures_left = 1 << 30;                         ///< ... and this many times
  CUresult failure = CUDA_ERROR_UNKNOWN;

  [[nodiscard]] int live_allocations() const { return static_cast<int>(references_.size()); }
  [[nodiscard]] int live_mappings() const { return static_cast<int>(mapped_.size()); }
  [[nodiscard]] int live_reservations() const { return static_cast<int>(reserved_.size()); }
  [[nodiscard]] int open_descriptors() const { return static_cast<int>(descriptors_.size()); }
  [[nodiscard]] bool nothing_left() const {
    return live_allocations() + live_mappings() + live_reservations() + open_descriptors() == 0;
  }
  [[nodiscard]] int calls_of(const std::string& name) const {
    const auto found = calls_.find(name);
    return found == calls_.end() ? 0 : found->second;
  }
  /// The allocation that is mapped at an address, or 0.
  [[nodiscard]] CUmemGenericAllocationHandle mapped_at(const void* address) const {
    const auto found = mapped_.find(reinterpret_cast<CUdeviceptr>(address));
    return found == mapped_.end() ? 0 : found->second;
  }
  /// Bytes of the largest allocation that was asked for.
  [[nodiscard]] std::uint64_t largest_allocation() const { return largest_; }

  [[nodiscard]] static cuda::driver_api api() {
    cuda::driver_api api;
    api.get_granularity = [](std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
      return current()->call("granularity", [&](auto& d) { *bytes = d.granularity; });
    };
    api.reserve_addresses = [](CUdeviceptr* out, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
      return current()->call("reserve", [&](auto& d) { d.reserved_[*out = d.next_address_ += 1ULL << 40] = bytes; });
    };
    api.free_addresses = [](CUdeviceptr at, std::size_t bytes) {
      return current()->call("free", [&](auto& d) {
        if (d.reserved_.at(at) == bytes) d.reserved_.erase(at);
      });
    };
    api.create = [](CUmemGenericAllocationHandle* out, std::size_t bytes, const CUmemAllocationProp* wanted,
                    unsigned long long) {
      const bool refused =
          current()->fabric_attribute_lies && wanted->requestedHandleTypes == CU_MEM_HANDLE_TYPE_FABRIC;
      if (refused) return CUDA_ERROR_NOT_PERMITTED;
      return current()->call("create", [&](auto& d) {
        d.references_[*out = ++d.next_handle_] = 1;
        if (bytes > d.largest_) d.largest_ = bytes;
      });
    };
    api.release = [](CUmemGenericAllocationHandle handle) {
      return current()->call("release", [&](auto& d) { d.drop(handle); });
    };
    api.map = [](CUdeviceptr at, std::size_t, std::size_t, CUmemGenericAllocationHandle handle, unsigned long long) {
      return current()->call("map", [&](auto& d) {
        ++d.references_.at(handle);
        d.mapped_[at] = handle;
      });
    };
    api.unmap = [](CUdeviceptr at, std::size_t) {
      return current()->call("unmap", [&](auto& d) {
        d.drop(d.mapped_.at(at));
        d.mapped_.erase(at);
      });
    };
    api.set_access = [](CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
      return current()->call("access", [](auto&) {});
    };
    api.export_handle = [](void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                           unsigned long long) {
      return current()->call("export", [&](auto& d) {
        if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
          static_cast<CUmemFabricHandle*>(out)->data[0] = static_cast<unsigned char>(handle);
          return;
        }
        d.descriptors_[*static_cast<int*>(out) = ++d.next_descriptor_] = handle;
      });
    };
    api.import_handle = [](CUmemGenericAllocationHandle* out, void* source, CUmemAllocationHandleType type) {
      return current()->call("import", [&](auto& d) {
        const auto number = static_cast<int>(reinterpret_cast<std::uintptr_t>(source));
        *out = type == CU_MEM_HANDLE_TYPE_FABRIC ? static_cast<CUmemFabricHandle*>(source)->data[0]
                                                 : d.descriptors_.at(number);
        ++d.references_.at(*out);
      });
    };
    api.error_name = [](CUresult, const char** name) {
      *name = "MOCK_ERROR";
      return CUDA_SUCCESS;
    };
    api.can_access_peer = [](int* can, int device, int peer) {
      *can = current()->pairs_without_access.contains({device, peer}) ? 0 : 1;
      return cudaSuccess;
    };
    api.gpu_identity = [](cudaUUID_t* identity, int device) {
      identity->bytes[0] = static_cast<char>(device);
      return cudaSuccess;
    };
    api.close_descriptor = [](int descriptor) {
      (void)current()->call("close", [&](auto& d) { d.descriptors_.erase(descriptor); });
      return 0;
    };
    return api;
  }

 private:
  static mock_driver*& current() {
    static mock_driver* driver = nullptr;
    return driver;
  }

  template <class Effect>
  CUresult call(const std::string& name, Effect effect) {
    const std::lock_guard lock(mutex_);
    if (name == fail_at && calls_[name] >= fail_after && failures_left > 0) {
      --failures_left;
      return failure;
    }
    ++calls_[name];
    effect(*this);
    return CUDA_SUCCESS;
  }
  void drop(CUmemGenericAllocationHandle handle) {
    if (--references_.at(handle) == 0) references_.erase(handle);
  }

  std::mutex mutex_;
  std::map<std::string, int> calls_;
  std::map<CUmemGenericAllocationHandle, int> references_;
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> mapped_;
  std::map<CUdeviceptr, std::size_t> reserved_;
  std::map<int, CUmemGenericAllocationHandle> descriptors_;
  CUdeviceptr next_address_ = 0;
  CUmemGenericAllocationHandle next_handle_ = 0;
  int next_descriptor_ = 100;
  std::uint64_t largest_ = 0;
};

}  // namespace switchyard::test
