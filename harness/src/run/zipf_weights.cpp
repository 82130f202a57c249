// SPDX-License-Identifier: Apache-2.0
// Powers in fixed point: 31 binary places, every operation an integer one.
#include <algorithm>
#include <array>
#include <bit>

#include "routing_laws.hpp"

namespace switchyard::harness {
namespace {

constexpr unsigned places = 31;
constexpr std::uint64_t one = std::uint64_t{1} << places;
constexpr unsigned most_weight_bits = 40;

/// Binary logarithm by repeated squaring: the square of a mantissa in [1, 2) passes 2 where the next bit of its
/// logarithm is set. Each squaring cuts off less than 2^-31, so the result is less than 2^-29 too small.
std::uint64_t log2_fixed(std::uint64_t value) {
  const auto whole = static_cast<unsigned>(std::bit_width(value)) - 1;
  std::uint64_t mantissa = (value << places) >> whole;
  std::uint64_t logarithm = whole;
  for (unsigned bit = 0; bit < places; ++bit) {
    mantissa = (mantissa * mantissa) >> places;
    const bool set = mantissa >= 2 * one;
    if (set) mantissa >>= 1;
    logarithm = 2 * logarithm + (set ? 1 : 0);
  }
  return logarithm;
}

std::uint64_t integer_root(std::uint64_t square) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= square) root += bit;
  }
  return root;
}

/// 2^-(2^-1), 2^-(2^-2), ...: each is the root of the one before.
std::array<std::uint64_t, places> halving_powers() {
  std::array<std::uint64_t, places> powers{};
  std::uint64_t power = one / 2;
  for (auto& each : powers) each = power = integer_root(power << places);
  return powers;
}

}  // namespace

std::vector<std::uint64_t> zipf_weights(std::int64_t num_experts, int exponent_percent) {
  const auto powers = halving_powers();
  std::vector<std::uint64_t> weights(static_cast<std::size_t>(num_experts));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // 2^-x with x = s * log2(place): the whole part of x is a shift, each bit of the rest one factor.
    const std::uint64_t x = log2_fixed(i + 1) * static_cast<std::uint64_t>(exponent_percent) / 100;
    std::uint64_t mantissa = one;
    for (unsigned bit = 0; bit < places; ++bit) {
      if (((x >> (places - 1 - bit)) & 1U) != 0) mantissa = (mantissa * powers[bit]) >> places;
    }
    const std::uint64_t shift = x >> places;
    const std::uint64_t weight = shift > most_weight_bits ? 0 : (mantissa << (most_weight_bits - places)) >> shift;
    weights[i] = std::max<std::uint64_t>(1, weight);  // every expert can be drawn
  }
  return weights;
}

}  // namespace switchyard::harness
