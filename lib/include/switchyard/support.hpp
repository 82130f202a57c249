// SPDX-License-Identifier: Apache-2.0
// The answer to "can this be used here?".
#pragma once

#include <string>

namespace switchyard {

/// Whether a fabric can be used here, and if not, why.
struct support {
  bool available = false;
  std::string reason;  ///< empty when available
};

}  // namespace switchyard
