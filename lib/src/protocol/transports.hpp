// SPDX-License-Identifier: Apache-2.0
// The phases of whichever transport a launch declares, for machines on which the choice costs nothing.
#pragma once

#include "protocol/fence_combine.hpp"
#include "protocol/fence_dispatch.hpp"
#include "protocol/lamport_combine.hpp"
#include "protocol/lamport_dispatch.hpp"

namespace switchyard::protocol {

template <block Block>
void run_dispatch(Block& block, const dispatch_params& p) {
  if (transport_of(p.words) == transport::lamport) return lamport_dispatch(block, p);
  fence_dispatch(block, p);
}

template <block Block>
void run_combine(Block& block, const combine_params& p) {
  const auto run = [&](const auto& of_form) {
    if (transport_of(p.words) == transport::lamport) return lamport_combine(block, of_form);
    fence_combine(block, of_form);
  };
  if (p.ws.layout.dims.in_low_precision()) return run(quantised_combine_params{p});
  run(p);
}

}  // namespace switchyard::protocol
