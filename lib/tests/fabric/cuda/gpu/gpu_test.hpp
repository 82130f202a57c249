// SPDX-License-Identifier: Apache-2.0
// Tests that need GPUs: skipped where there are too few, or failed where SWITCHYARD_REQUIRE_GPUS says there must be.
#pragma once

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace switchyard::test {

inline void check_cuda(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(result));
}

template <int Needed>
class gpu_test : public testing::Test {
 protected:
  void SetUp() override {
    // Several ranks on a GPU wait for each other: each stream needs a hardware queue. Read when CUDA starts.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    int found = 0;
    if (cudaGetDeviceCount(&found) != cudaSuccess) found = 0;
    if (found >= Needed) return;
    const auto what = std::to_string(found) + " GPU(s), needs " + std::to_string(Needed);
    const char* required = std::getenv("SWITCHYARD_REQUIRE_GPUS");
    if (required != nullptr && std::atoi(required) >= Needed) FAIL() << what;
    GTEST_SKIP() << what;
  }
};

}  // namespace switchyard::test
