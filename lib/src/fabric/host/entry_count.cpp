// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/entry_count.hpp"

#include <thread>

namespace switchyard::host {

bool entry_count::wait_empty_until(std::chrono::steady_clock::time_point deadline) {
  while (!is_empty()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

}  // namespace switchyard::host
