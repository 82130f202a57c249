// SPDX-License-Identifier: Apache-2.0
// How ranks that are threads of one process hand each other what they share. The book lives as long as any rank of the
// group is still connecting, so a rank that gives up half-way takes nothing away from one that is still reading.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "switchyard/comm_backend.hpp"

namespace switchyard::host {

/// Collective: gives `mine` to every rank and returns what each rank gave, by rank. Throws unsupported on every rank
/// when the ranks do not live in one process, peer_fault as the backend does.
std::vector<std::shared_ptr<void>> exchange_addresses(comm_backend& backend, std::shared_ptr<void> mine,
                                                      std::chrono::nanoseconds timeout);

}  // namespace switchyard::host
