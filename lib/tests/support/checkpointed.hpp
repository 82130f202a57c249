// SPDX-License-Identifier: Apache-2.0
// What tests of checkpoints on the host have in common.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/layered_group.hpp"

namespace switchyard::test {

/// Pages of a workspace that are in memory. None where there is nothing behind its addresses.
inline std::size_t resident_pages(const one_sided_all_to_all& instance, const one_sided_config& config) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto bytes = workspace_bytes(instance.params(), config, instance.ep_size());
  std::vector<unsigned char> seen((bytes + page - 1) / page);
  if (mincore(instance.workspace_data(), bytes, seen.data()) != 0) return 0;
  return static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), [](auto flags) { return flags & 1; }));
}

template <class Call>
std::string state_error_of(Call call) {
  try {
    call();
  } catch (const state_error& e) {
    return e.what();
  }
  return "no state_error";
}

}  // namespace switchyard::test
