// SPDX-License-Identifier: Apache-2.0
// CUDA calls speak of the thread's current device. The library's calls speak of the workspace's, and leave the caller's
// as it was.
#pragma once

#include "fabric/cuda/driver_api.hpp"

namespace switchyard::cuda {

class device_guard {
 public:
  /// Also binds the device's context to this thread, without which the driver's own calls fail. Throws cuda_error when
  /// `device` cannot be made current.
  explicit device_guard(int device) {
    check(cudaGetDevice(&before_), "current device");
    check(cudaSetDevice(device), "making the workspace's device current");
  }
  ~device_guard() { (void)cudaSetDevice(before_); }
  device_guard(const device_guard&) = delete;
  device_guard& operator=(const device_guard&) = delete;

 private:
  int before_ = 0;
};

}  // namespace switchyard::cuda
