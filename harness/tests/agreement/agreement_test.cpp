// SPDX-License-Identifier: Apache-2.0
// Library against golden model, function by function.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "fabric/host/host_block.hpp"
#include "protocol/e4m3.hpp"
#include "protocol/ordered_sum.hpp"
#include "protocol/routing.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/reference/low_precision_combine.hpp"
#include "switchyard/reference/small_floats.hpp"

namespace switchyard {
namespace {

TEST(agreement, every_expert_has_the_same_owner) {
  for (int ep_size = 1; ep_size <= 72; ++ep_size) {
    for (const std::int64_t extra : {0, 1, 2, 7, 31, 216, 1000}) {
      const auto num_experts = ep_size + extra;
      const protocol::expert_map experts{num_experts, ep_size};
      for (std::int64_t e = -2; e < num_experts + 2; ++e) {
        ASSERT_EQ(experts.owner_of(static_cast<std::int32_t>(e)), reference::owner_of(e, num_experts, ep_size))
            << "expert " << e << " of " << num_experts << " on " << ep_size;
      }
    }
  }
}

TEST(agreement, owners_come_in_the_same_order) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const int ep_size = 1 + static_cast<int>(random() % 100);
    const std::int32_t num_experts = ep_size + static_cast<std::int32_t>(random() % 40);
    std::vector<std::int32_t> ids(1 + random() % 32);
    for (auto& id : ids) id = static_cast<std::int32_t>(random() % static_cast<unsigned>(num_experts + 4)) - 2;
    std::vector<int> owners;
    protocol::expert_map{num_experts, ep_size}.for_each_owner(
        ids.data(), static_cast<std::uint32_t>(ids.size()),
        [&](std::uint32_t, std::int32_t rank) { owners.push_back(rank); });
    ASSERT_EQ(owners, reference::owners_in_slot_order(ids, num_experts, ep_size)) << "round " << round;
  }
}

template <class Bits>
void sums_agree(dtype type) {
  std::mt19937_64 random(11);
  constexpr std::size_t elements = 257;
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t num_rows = random() % 9;
    std::vector<std::vector<Bits>> rows(num_rows, std::vector<Bits>(elements));
    for (auto& row : rows) {
      for (auto& bits : row) bits = static_cast<Bits>(random());  // NaNs, infinities and subnormals among them
    }
    std::vector<const std::byte*> pointers;
    for (const auto& row : rows) pointers.push_back(reinterpret_cast<const std::byte*>(row.data()));
    const std::vector<int> owners(num_rows, 0);
    std::vector<Bits> ours(elements);
    std::vector<Bits> golden(elements);
    host::host_block::reduce_rows(reinterpret_cast<std::byte*>(ours.data()), pointers.data(),
                                  static_cast<std::uint32_t>(num_rows), elements, type);
    reference::combine_token(pointers, owners, elements, type, reference::sum_order::slot_order,
                             reinterpret_cast<std::byte*>(golden.data()));
    ASSERT_EQ(ours, golden) << num_rows << " rows, round " << round;
  }
}
TEST(agreement, every_fp32_has_the_same_e4m3) {
  const auto compare = [](std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    return protocol::to_e4m3(value) == reference::fp32_to_e4m3(value);
  };
  // All signs and exponents with the fractions round every rounding boundary, and drawn ones.
  std::mt19937 random(3);
  for (std::uint32_t top = 0; top < 1U << 14; ++top) {
    for (const std::uint32_t low : {0U, 1U, 0x1FFFFU, 0x3FFFFU, static_cast<std::uint32_t>(random() & 0x3FFFFU)}) {
      ASSERT_TRUE(compare(top << 18 | low)) << std::hex << (top << 18 | low);
    }
  }
  for (int i = 0; i < 1 << 20; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    ASSERT_TRUE(compare(bits)) << std::hex << bits;
  }
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const auto ours = protocol::from_e4m3(static_cast<std::uint8_t>(bits));
    const auto golden = reference::e4m3_to_fp32(static_cast<std::uint8_t>(bits));
    if ((bits & 0x7FU) == 0x7FU) {
      EXPECT_TRUE(std::isnan(ours) && std::isnan(golden));
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(ours), std::bit_cast<std::uint32_t>(golden)) << bits;
    }
  }
}

/// Rows of any bits, and of values of one magnitude with a few larger ones: both kinds of scale.
template <class Bits>
std::vector<Bits> row_of_kind(std::size_t elements, std::uint64_t kind, std::mt19937_64& random) {
  std::vector<Bits> row(elements);
  for (auto& bits : row) {
    bits = static_cast<Bits>(random());
    if (kind % 4 == 0) continue;
    // The exponent's top bits fixed: neither infinities nor NaNs, and no spread that a scale could not span.
    constexpr auto exponent_tops = static_cast<Bits>(Bits{7} << (8 * sizeof(Bits) - 4));
    bits = static_cast<Bits>((bits & static_cast<Bits>(~exponent_tops)) | static_cast<Bits>(exponent_tops / 7 * 3));
    if (kind % 4 == 1) bits = random() % 8 == 0 ? bits : Bits{0};
  }
  return row;
}

template <class Bits>
void low_precision_sums_agree(dtype type) {
  std::mt19937_64 random(13);
  for (int round = 0; round < 600; ++round) {
    const auto format = round % 2 == 0 ? low_precision::fp8 : low_precision::fp8_block_scaled;
    const std::size_t elements = 1 + random() % 400;
    const protocol::quantised_shape shape{format, type, static_cast<std::uint32_t>(elements)};
    const std::size_t num_rows = random() % 9;
    const std::size_t own = random() % 9;
    std::vector<std::vector<Bits>> rows;
    for (std::size_t i = 0; i < num_rows; ++i) rows.push_back(row_of_kind<Bits>(elements, random(), random));
    // As they lie when they are summed: all but the own one quantised.
    std::vector<std::vector<std::byte>> returned(num_rows);
    std::vector<const std::byte*> pointers;
    for (std::size_t i = 0; i < num_rows; ++i) {
      pointers.push_back(reinterpret_cast<const std::byte*>(rows[i].data()));
      returned[i].resize(layout::quantised_row_bytes(format, elements));
      host::host_block::put_quantised(returned[i].data(), pointers[i], shape);
    }
    std::vector<Bits> ours(elements);
    host::host_block::sum_quantised(
        reinterpret_cast<std::byte*>(ours.data()), static_cast<std::uint32_t>(num_rows),
        [&](std::uint32_t i) { return i == own ? pointers[i] : returned[i].data(); },
        [&](std::uint32_t i) { return i == own; }, shape);
    std::vector<Bits> by_units(elements);
    for (std::uint32_t unit = 0; unit < shape.units(); ++unit) {
      host::host_block::quantised_sum sum{};
      for (std::size_t i = 0; i < num_rows; ++i) {
        host::host_block::add_quantised(sum, host::host_block::quantise_unit(pointers[i], unit, shape), i == 0);
      }
      host::host_block::store_quantised_sum(reinterpret_cast<std::byte*>(by_units.data()), unit, sum, shape);
    }
    const std::vector<int> owners(num_rows, 0);
    std::vector<Bits> golden(elements);
    reference::combine_token_in(format, pointers, owners, elements, type, reference::sum_order::slot_order,
                                reinterpret_cast<std::byte*>(golden.data()));
    ASSERT_EQ(ours, golden) << num_rows << " rows of " << elements << ", round " << round;
    ASSERT_EQ(by_units, golden) << num_rows << " rows of " << elements << " by units, round " << round;
  }
}
TEST(agreement, bf16_low_precision_sums_have_the_same_bits) { low_precision_sums_agree<std::uint16_t>(dtype::bf16); }
TEST(agreement, fp16_low_precision_sums_have_the_same_bits) { low_precision_sums_agree<std::uint16_t>(dtype::fp16); }
TEST(agreement, fp32_low_precision_sums_have_the_same_bits) { low_precision_sums_agree<std::uint32_t>(dtype::fp32); }

TEST(agreement, bf16_sums_have_the_same_bits) { sums_agree<std::uint16_t>(dtype::bf16); }
TEST(agreement, fp16_sums_have_the_same_bits) { sums_agree<std::uint16_t>(dtype::fp16); }
TEST(agreement, fp32_sums_have_the_same_bits) { sums_agree<std::uint32_t>(dtype::fp32); }

}  // namespace
}  // namespace switchyard
