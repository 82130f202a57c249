// SPDX-License-Identifier: Apache-2.0
#include "layout/workspace_layout.hpp"

#include <gtest/gtest.h>

#include "layout/round_state.hpp"
#include "switchyard/config.hpp"

namespace switchyard::layout {
namespace {

extents rack() {
  return {.ep_size = 72, .top_k = 8, .max_tokens = 8192, .hidden_bytes = 14336, .combine_row_bytes = 14336};
}

TEST(workspace_layout, regions_are_aligned_disjoint_and_guarded) {
  const auto plan = make_layout(rack());
  std::uint64_t end = 0;
  for (const auto& spec : region_table) {
    EXPECT_EQ(plan.offset_of(spec.id) % region_alignment, 0U) << spec.name;
    EXPECT_GE(plan.offset_of(spec.id), end) << spec.name;
    end = plan.offset_of(spec.id) + plan.size_of(spec.id) + guard_bytes;
  }
  EXPECT_GE(plan.total_bytes, end);
  EXPECT_EQ(guard_bytes, workspace_guard_bytes) << "the public promise";
}

TEST(workspace_layout, sizes_pass_32_bits) {
  const auto plan = make_layout(rack());
  // 72 ranks * 8192 tokens * 14336 bytes, worked out by hand.
  EXPECT_EQ(plan.size_of(region::hidden_states), 8'455'716'864ULL);
  EXPECT_EQ(plan.size_of(region::topk_ids), 72ULL * 8192 * 8 * 4);
  EXPECT_EQ(plan.size_of(region::headers), 4ULL * 72 * (16 + 256) * 8);
  EXPECT_EQ(plan.size_of(region::dispatch_flags), 72ULL * 8);
  EXPECT_EQ(plan.size_of(region::combine_flags), 72ULL * 2048 * 8);
  EXPECT_EQ(plan.size_of(region::routes), 8192ULL * 8 * 8);
}

TEST(workspace_layout, slots_are_the_smaller_of_top_k_and_ranks) {
  extents dims = rack();
  EXPECT_EQ(dims.slots(), 8U);
  dims.ep_size = 4;
  EXPECT_EQ(dims.slots(), 4U);
}

TEST(workspace_layout, header_and_flag_slots_do_not_overlap) {
  const auto plan =
      make_layout({.ep_size = 3, .top_k = 2, .max_tokens = 33, .hidden_bytes = 2, .combine_row_bytes = 2});
  const std::uint64_t header_bytes = (16 + 2) * 8;
  std::uint64_t expected = plan.offset_of(region::headers);
  for (const auto which : {phase::dispatch, phase::combine}) {
    for (std::uint64_t parity = 0; parity < 2; ++parity) {
      for (std::uint64_t source = 0; source < 3; ++source, expected += header_bytes) {
        EXPECT_EQ(plan.header_offset(which, parity, source), expected);
      }
    }
  }
  EXPECT_EQ(expected, plan.offset_of(region::headers) + plan.size_of(region::headers));
  EXPECT_EQ(plan.dispatch_flag_offset(2) + 8,
            plan.offset_of(region::dispatch_flags) + plan.size_of(region::dispatch_flags));
  EXPECT_EQ(plan.combine_flag_offset(2, 32) + 8,
            plan.offset_of(region::combine_flags) + plan.size_of(region::combine_flags));
}

TEST(workspace_layout, optional_payloads_without_capacity_take_no_rows) {
  const auto plan = make_layout(rack());
  EXPECT_EQ(plan.size_of(region::extra), 0U);
  EXPECT_EQ(plan.size_of(region::hidden_states_scale), 0U);
}

TEST(workspace_layout, rows_in_low_precision_are_elements_then_scales) {
  extents dims = rack();
  dims.combine_row_bytes = 600;  // 300 elements of 2 bytes
  dims.combine_format = low_precision::fp8;
  EXPECT_EQ(dims.returned_row_bytes(), 304U);
  EXPECT_EQ(dims.lamport_scales_offset(), 512U);  // 19 units of 24 bytes
  EXPECT_EQ(dims.lamport_output_bytes(), 512U);
  dims.combine_format = low_precision::fp8_block_scaled;
  EXPECT_EQ(dims.returned_row_bytes(), 304U + 16);
  EXPECT_EQ(dims.lamport_output_bytes(), 512U + 128);
  // Rows of any h up to the longest fit, one after the other.
  for (std::uint64_t elements = 1; elements <= 300; ++elements) {
    const auto row_bytes = quantised_row_bytes(dims.combine_format, elements);
    EXPECT_EQ(row_bytes % 16, 0U);
    EXPECT_EQ(scales_offset(elements) % 16, 0U);
    EXPECT_GE(scales_offset(elements), elements);
    EXPECT_GE(row_bytes, scales_offset(elements) + num_scales(dims.combine_format, elements) * 4);
    EXPECT_LE(row_bytes, dims.returned_row_bytes());
  }
}

TEST(round_state, epochs_skip_what_fresh_memory_holds) {
  EXPECT_EQ(next_epoch(1), 2U);
  EXPECT_EQ(next_epoch(0xFFFFFFFEU), 0xFFFFFFFFU);
  EXPECT_EQ(next_epoch(0xFFFFFFFFU), 1U);
}

TEST(round_state, tagged_words_come_apart_again) {
  const auto word = tagged(0x89ABCDEFU, 0xFEDCBA98U);
  EXPECT_EQ(word, 0xFEDCBA9889ABCDEFULL);
  EXPECT_EQ(tag_of(word), 0xFEDCBA98U);
  EXPECT_EQ(data_of(word), 0x89ABCDEFU);
}

}  // namespace
}  // namespace switchyard::layout
