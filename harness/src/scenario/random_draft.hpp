// SPDX-License-Identifier: Apache-2.0
// A case while it is drawn: what is decided already, and the settings so far.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "random_shape.hpp"

namespace switchyard::harness {

/// The fault that a drawn case must end with.
enum class drawn_fault : std::uint8_t { none, injected, own_tokens };

struct random_draft {
  random_draft(std::uint64_t key, const random_limits& within)
      : limits(within), random(key), shape(draw_shape(random, within)) {}

  void set(std::string_view field, field_value value) {
    settings.insert_or_assign(std::string(field), field_setting{std::move(value), {"draw", "@" + std::string(field)}});
  }
  void set_word(std::string_view field, std::string_view word) { set(field, std::string(word)); }
  /// A share in percent: nearly nothing and nearly all are other cases than nothing and all.
  void draw_percent(std::string_view field) { set(field, random.number(0, 100, {0, 1, 50, 99, 100})); }

  const random_limits& limits;
  corner_random random;
  random_shape shape;
  drawn_fault fault = drawn_fault::none;
  field_settings settings;
};

/// tokens or token_counts, padding, empty ranks, variation, and what T is. Part of a fault by disagreement.
void draw_tokens(random_draft& draft);

/// What one rank does wrong, and the fault that must come of it. To be called when all else is drawn.
void draw_fault(random_draft& draft);

/// The routing law with what belongs to it, and ids that are repeated or name no expert.
void draw_routing(random_draft& draft);

}  // namespace switchyard::harness
