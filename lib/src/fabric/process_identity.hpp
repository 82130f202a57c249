// SPDX-License-Identifier: Apache-2.0
// Whether two ranks are of one process: a number that no other process has, in whatever container or host it runs.
#pragma once

#include <cstdint>

namespace switchyard {

struct process_identity {
  std::uint64_t drawn = 0;   ///< when the process first asked
  std::int64_t process = 0;  ///< its number; one of another container may have the same
  friend bool operator==(const process_identity&, const process_identity&) = default;
};

process_identity identity_of_process();

}  // namespace switchyard
