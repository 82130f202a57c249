// SPDX-License-Identifier: Apache-2.0
// Construction's agreement: every rank succeeds, or every rank learns which ranks could not and why.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>

#include "switchyard/config.hpp"

namespace switchyard {

/// What the ranks must have in common.
struct group_terms {
  comm_params params;
  one_sided_config config;
  int ep_size = 1;
  fabric_kind kind = fabric_kind::host;
  std::uint64_t workspace_bytes = 0;
  std::uint64_t layout_digest = 0;
  std::uint32_t first_epoch = 1;
  std::uint32_t instance = 0;  ///< how many were made before on the workspace that it is to have
};

/// Runs `prepare` (local checks and allocation; it may complete `terms`), then gathers all ranks' verdicts and terms.
/// Collective. Rethrows what `prepare` threw, with the same type, or throws for the first rank that failed or whose
/// terms differ from rank 0's.
void agree_on_construction(comm_backend& backend, const group_terms& terms, std::chrono::nanoseconds timeout,
                           const std::function<void()>& prepare);

}  // namespace switchyard
