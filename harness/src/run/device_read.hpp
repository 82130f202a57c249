// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace switchyard::harness {

/// A copy from a device.
struct device_read {
  std::byte* into = nullptr;
  const std::byte* place = nullptr;
  std::size_t bytes = 0;
};

}  // namespace switchyard::harness
