// SPDX-License-Identifier: Apache-2.0
// Kernels of the host fabric that take headers as they come: for measuring what comparing them costs.
#pragma once

#include "fabric/host/host_fabric.hpp"
#include "protocol/transports.hpp"

namespace switchyard::injection {

/// A block like any other, but for that.
class unchecked_block : public host::host_block {
 public:
  static constexpr bool checks_headers = false;
  explicit unchecked_block(const host::host_block& same) : host::host_block(same) {}
};
static_assert(!protocol::checks_headers<unchecked_block>() && protocol::checks_headers<host::host_block>());

inline host::host_kernels unchecked_host_kernels() {
  return {[](host::host_block& block, const protocol::dispatch_params& params) {
            unchecked_block unchecked(block);
            protocol::run_dispatch(unchecked, params);
          },
          [](host::host_block& block, const protocol::combine_params& params) {
            unchecked_block unchecked(block);
            protocol::run_combine(unchecked, params);
          }};
}

}  // namespace switchyard::injection
