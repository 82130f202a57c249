// SPDX-License-Identifier: Apache-2.0
// Library against golden model, function by function.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "fabric/host/host_block.hpp"
#include "protocol/ordered_sum.hpp"
#include "protocol/routing.hpp"
#include "switchyard/reference/golden_model.hpp"

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
TEST(agreement, bf16_sums_have_the_same_bits) { sums_agree<std::uint16_t>(dtype::bf16); }
TEST(agreement, fp16_sums_have_the_same_bits) { sums_agree<std::uint16_t>(dtype::fp16); }
TEST(agreement, fp32_sums_have_the_same_bits) { sums_agree<std::uint32_t>(dtype::fp32); }

}  // namespace
}  // namespace switchyard
