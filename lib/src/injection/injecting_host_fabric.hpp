// SPDX-License-Identifier: Apache-2.0
// The host fabric with one mutation of the protocol.
#pragma once

#include <memory>

#include "fabric/host/host_fabric.hpp"
#include "injection/injecting_block.hpp"
#include "protocol/transports.hpp"

namespace switchyard::injection {

/// A host fabric whose blocks deviate as `plan` says; the injector counts over all ranks that share it.
inline std::shared_ptr<fabric> make_injecting_host_fabric(std::shared_ptr<injector> plan) {
  return host::make_host_fabric({[plan](host::host_block& block, const protocol::dispatch_params& params) {
                                   injecting_block<host::host_block> injecting(block, *plan, params.ws);
                                   protocol::run_dispatch(injecting, params);
                                 },
                                 [plan](host::host_block& block, const protocol::combine_params& params) {
                                   injecting_block<host::host_block> injecting(block, *plan, params.ws);
                                   protocol::run_combine(injecting, params);
                                 }});
}

/// The same with two mutations at once.
inline std::shared_ptr<fabric> make_injecting_host_fabric(std::shared_ptr<injector> first,
                                                          std::shared_ptr<injector> second) {
  using inner_block = injecting_block<host::host_block>;
  return host::make_host_fabric({[first, second](host::host_block& block, const protocol::dispatch_params& params) {
                                   inner_block inner(block, *first, params.ws);
                                   injecting_block<inner_block> outer(inner, *second, params.ws);
                                   protocol::run_dispatch(outer, params);
                                 },
                                 [first, second](host::host_block& block, const protocol::combine_params& params) {
                                   inner_block inner(block, *first, params.ws);
                                   injecting_block<inner_block> outer(inner, *second, params.ws);
                                   protocol::run_combine(outer, params);
                                 }});
}

}  // namespace switchyard::injection
