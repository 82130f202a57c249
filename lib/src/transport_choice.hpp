// SPDX-License-Identifier: Apache-2.0
// Which transport a step takes: a decision of the host on declared values, the same on every rank.
#pragma once

#include <cstdint>
#include <string_view>

#include "switchyard/config.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/support.hpp"

namespace switchyard {

struct transport_choice {
  transport chosen = transport::fence;
  std::string_view reason;  ///< one phrase; lives as long as the program
};

/// Whether the workspace has what Lamport steps need, with the reason why not.
support lamport_support(const one_sided_config& config);

/// For a step of T = `tokens_per_rank`. Only the presence and the widths of payloads count.
transport_choice choose_transport(const one_sided_config& config, std::int64_t tokens_per_rank,
                                  const dispatch_inputs& inputs);

}  // namespace switchyard
