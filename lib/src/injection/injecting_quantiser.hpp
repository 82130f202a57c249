// SPDX-License-Identifier: Apache-2.0
// The part of a block that errs on request that has to do with low precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "injection/deviation.hpp"
#include "protocol/quantised_rows.hpp"

namespace switchyard::injection {

template <class Block>
class injecting_quantiser : protected deviation {
 public:
  void put_quantised(std::byte* out, const std::byte* in, const protocol::quantised_shape& shape) {
    if (!hits(operation::quantise, out)) return inner_.put_quantised(out, in, shape);
    if (dropped()) return;
    std::vector<std::byte> row(layout::quantised_row_bytes(shape.format, shape.elements));
    inner_.put_quantised(row.data(), in, shape);
    if (is(effect::corrupt)) row[0] ^= static_cast<std::byte>(plan_.plan().amount);
    if (is(effect::next_scale) && shape.has_scales()) {
      const auto first = row.begin() + static_cast<std::ptrdiff_t>(layout::scales_offset(shape.elements));
      const auto scales = static_cast<std::ptrdiff_t>(layout::num_scales(shape.format, shape.elements));
      constexpr auto scale_bytes = static_cast<std::ptrdiff_t>(sizeof(float));
      std::rotate(first, first + scale_bytes, first + scales * scale_bytes);
    }
    inner_.put(out, row.data(), row.size());
  }

  template <class RowAt, class IsOwn>
  void sum_quantised(std::byte* out, std::uint32_t num_rows, RowAt row_at, IsOwn is_own,
                     const protocol::quantised_shape& shape) {
    const bool can_hit = is(effect::as_is) ? num_rows == 1 && is_own(0) : num_rows >= 2;
    if (!can_hit || !hits(operation::sum_rows, row_at(0))) {
      return inner_.sum_quantised(out, num_rows, row_at, is_own, shape);
    }
    if (is(effect::as_is)) return inner_.copy_local(out, row_at(0), shape.plain_row_bytes());
    if (is(effect::delay)) pause();
    const auto turned = [&](std::uint32_t i) { return is(effect::reorder) ? num_rows - 1 - i : i; };
    inner_.sum_quantised(
        out, is(effect::drop) ? num_rows - 1 : num_rows, [&](std::uint32_t i) { return row_at(turned(i)); },
        [&](std::uint32_t i) { return is_own(turned(i)); }, shape);
  }

  protocol::quantised_unit quantise_unit(const std::byte* row, std::uint32_t unit,
                                         const protocol::quantised_shape& shape) {
    auto result = inner_.quantise_unit(row, unit, shape);
    if (unit >= shape.units() || !hits(operation::quantise, row)) return result;
    if (is(effect::corrupt)) result.words.first ^= plan_.plan().amount;
    if (is(effect::next_scale)) {
      const auto next = unit + layout::units_of_scale;
      result.scale = inner_.quantise_unit(row, next < shape.units() ? next : 0, shape).scale;
    }
    return result;
  }

  /// The sources of a unit as they come, so that their sum can be made in another way.
  using quantised_sum = std::vector<protocol::quantised_unit>;
  void add_quantised(quantised_sum& sum, const protocol::quantised_unit& unit, bool first) {
    if (first) sum.clear();
    sum.push_back(unit);
  }
  void store_quantised_sum(std::byte* out, std::uint32_t unit, quantised_sum& sum,
                           const protocol::quantised_shape& shape) {
    if (hits(operation::store_unit, out) && dropped()) return;
    const bool hit = sum.size() >= 2 && hits(operation::sum_rows, ws_.self);
    if (hit && is(effect::delay)) pause();
    if (hit && is(effect::reorder)) std::reverse(sum.begin(), sum.end());
    if (hit && is(effect::drop)) sum.pop_back();
    typename Block::quantised_sum inner{};
    for (std::size_t i = 0; i < sum.size(); ++i) inner_.add_quantised(inner, sum[i], i == 0);
    inner_.store_quantised_sum(out, unit, inner, shape);
  }

 protected:
  injecting_quantiser(Block& inner, injector& plan, const protocol::workspace_handle& ws)
      : deviation(plan, ws), inner_(inner) {}

  Block& inner_;
};

}  // namespace switchyard::injection
