// SPDX-License-Identifier: Apache-2.0
// Whether and how a block that errs on request does an operation otherwise.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "injection/mutation.hpp"
#include "protocol/params.hpp"

namespace switchyard::injection {

/// What a block that errs knows of it; to be derived from.
class deviation {
 protected:
  deviation(injector& plan, const protocol::workspace_handle& ws) : plan_(plan), ws_(ws) {}

  [[nodiscard]] bool is(effect what) const { return plan_.plan().what == what; }

  /// Drops for an effect of that name; sleeps for a delay and lets the operation go on.
  [[nodiscard]] bool dropped() const {
    if (is(effect::delay)) pause();
    return is(effect::drop);
  }

  void pause() const { std::this_thread::sleep_for(std::chrono::microseconds(plan_.plan().amount)); }

  [[nodiscard]] std::uint64_t retagged(std::uint64_t value) const {
    return layout::tagged(layout::data_of(value),
                          layout::tag_of(value) + static_cast<std::uint32_t>(plan_.plan().amount));
  }

  /// The rank whose workspace holds `address`, or -1.
  [[nodiscard]] std::int32_t holder(const std::byte* address) const {
    for (std::int32_t rank = 0; rank < ws_.ep_size; ++rank) {
      if (address >= ws_.peers[rank] && address < ws_.peers[rank] + ws_.layout.total_bytes) return rank;
    }
    return -1;
  }

  template <class Target>
  [[nodiscard]] Target* redirected(Target* target) const {
    auto* address = reinterpret_cast<std::byte*>(target);
    const auto from = holder(address);
    const auto to = static_cast<std::int32_t>((static_cast<std::uint64_t>(from) + plan_.plan().amount) %
                                              static_cast<std::uint64_t>(ws_.ep_size));
    return reinterpret_cast<Target*>(ws_.peers[to] + (address - ws_.peers[from]));
  }

  template <class Target>
  bool hits(operation op, const Target* target) {
    const auto& plan = plan_.plan();
    if (op != plan.op || (plan.rank && *plan.rank != ws_.rank)) return false;
    const auto* address = reinterpret_cast<const std::byte*>(target);
    const auto peer = holder(address);
    if ((plan.peer && *plan.peer != peer) || (plan.to_self && peer != ws_.rank)) return false;
    if (plan.to_peers && peer == ws_.rank) return false;
    if (plan.region) {
      if (peer < 0) return false;
      const auto at = static_cast<std::uint64_t>(address - ws_.peers[peer]);
      const auto first = ws_.layout.offset_of(*plan.region);
      if (at < first || at >= first + ws_.layout.size_of(*plan.region)) return false;
      if (plan.offset && *plan.offset != at - first) return false;
    }
    return plan_.take();
  }

  injector& plan_;
  const protocol::workspace_handle& ws_;
};

}  // namespace switchyard::injection
