// SPDX-License-Identifier: Apache-2.0
#include "fabric/process_identity.hpp"

#include <unistd.h>

#include <random>

namespace switchyard {

process_identity identity_of_process() {
  static const std::uint64_t drawn = [] {
    std::random_device entropy;
    return static_cast<std::uint64_t>(entropy()) << 32 | entropy();
  }();
  return {drawn, getpid()};
}

}  // namespace switchyard
