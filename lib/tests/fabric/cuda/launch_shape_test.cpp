// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/launch_shape.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace switchyard::cuda {
namespace {

constexpr device_share whole_device{.multiprocessors = 131, .room = {.wide = 2, .narrow = 3}};

TEST(cuda_launch_shape, chunks_share_no_bitmap_word_and_every_layout_has_flags_for_those_of_combine) {
  for (std::uint64_t tokens = 1; tokens < 70000; tokens = tokens * 5 / 4 + 1) {
    for (const std::uint64_t ep_size : {1U, 2U, 8U, 72U, 256U}) {
      const layout::extents smallest{.ep_size = ep_size, .max_tokens = tokens};
      const auto plan = plan_launches(tokens, smallest, whole_device, 0);
      for (const auto chunk : {plan.dispatch.chunk_tokens, plan.combine.chunk_tokens}) {
        EXPECT_TRUE(std::has_single_bit(chunk)) << tokens;
      }
      const auto rows = plan.combine.chunk_tokens;
      EXPECT_LE((tokens + rows - 1) / rows, smallest.max_chunks()) << tokens;
      EXPECT_GE(plan.reduce_tokens, 1U) << tokens;
    }
  }
  EXPECT_EQ(dispatch_chunk_tokens(1, wide_block), 1U);
  EXPECT_EQ(dispatch_chunk_tokens(128, wide_block), 1U);
  EXPECT_EQ(dispatch_chunk_tokens(512, wide_block), 4U);
  EXPECT_EQ(dispatch_chunk_tokens(8192, wide_block), 2U);
  EXPECT_EQ(dispatch_chunk_tokens(8192, narrow_block), 4U);
}

TEST(cuda_launch_shape, a_launch_has_no_more_blocks_than_roles_places_or_the_callers_bound) {
  const layout::extents pair{.ep_size = 2, .top_k = 8, .max_tokens = 8192};
  EXPECT_EQ(plan_launches(1, pair, whole_device, 0).dispatch.num_blocks, 1 + 2);
  EXPECT_EQ(plan_launches(1, pair, whole_device, 0).combine.num_blocks, 2 + 1 + 2 + 1);
  EXPECT_EQ(plan_launches(128, pair, whole_device, 0).combine.num_blocks, 2 + 128 + 2 + 128);
  EXPECT_EQ(plan_launches(1024, pair, whole_device, 0).dispatch.num_blocks, 262);
  EXPECT_EQ(plan_launches(512, pair, whole_device, 0).combine.num_blocks, 131);
  EXPECT_EQ(plan_launches(1, pair, whole_device, 0).combine.block_threads, static_cast<int>(wide_block));
  const auto large = plan_launches(8192, pair, whole_device, 0);
  EXPECT_EQ(large.combine.num_blocks, 131 * 2);
  EXPECT_EQ(large.combine.block_threads, static_cast<int>(wide_block));
  EXPECT_GE(large.senders, 1);
  EXPECT_LT(large.senders, large.combine.num_blocks) << "nobody would sum while rows are sent";
  EXPECT_EQ(plan_launches(8192, pair, {.multiprocessors = 16, .room = {.wide = 1, .narrow = 1}}, 0).dispatch.num_blocks,
            16);
  const auto bounded = plan_launches(8192, pair, whole_device, 1);
  EXPECT_EQ(bounded.combine.num_blocks, 1);
  EXPECT_EQ(bounded.senders, 1);
}

TEST(cuda_launch_shape, all_ranks_of_a_device_and_an_abort_find_room_together) {
  const layout::extents dims{.ep_size = 8, .top_k = 8, .max_tokens = 8192};
  for (int ranks = 1; ranks <= 131 * 3; ++ranks) {
    auto share = whole_device;
    share.ranks = ranks;
    EXPECT_GE(share.narrow_places(), 1);
    EXPECT_LE(share.narrow_places() * ranks, 131 * 3);
    phase_plan before{.num_blocks = 0};
    for (const std::uint64_t tokens : {1U, 8U, 64U, 128U, 8192U}) {
      const auto plan = plan_launches(tokens, dims, share, 0);
      for (const auto& phase : {plan.dispatch, plan.combine}) {
        EXPECT_LE(phase.num_blocks, share.places_for(phase));
        if (may_overlap(phase, before, share)) {
          EXPECT_EQ(ranks, 1);
          EXPECT_LE(2 * phase.num_blocks, share.places_for(phase));
        }
        if (ranks > 1) {
          EXPECT_EQ(phase.block_threads, static_cast<int>(narrow_block));
        }
        before = phase;
      }
    }
  }
  device_share crowded{.multiprocessors = 131, .room = {.wide = 1, .narrow = 1}, .ranks = 132};
  EXPECT_EQ(crowded.narrow_places(), 0);
}

TEST(cuda_launch_shape, a_racks_largest_step_has_its_tables_in_a_block) {
  const auto scratch = most_scratch_bytes({.ep_size = 256, .top_k = 32, .max_tokens = 65536});
  EXPECT_LE(scratch.dispatch, 8U << 10);
  EXPECT_LE(scratch.combine, 8U << 10);
}

TEST(cuda_launch_shape, what_a_workspace_has_room_for_is_enough_for_every_step) {
  for (const std::uint64_t ep_size : {2U, 72U}) {
    for (auto share : {whole_device, device_share{.multiprocessors = 131, .room = whole_device.room, .ranks = 2}}) {
      const layout::extents dims{.ep_size = ep_size, .top_k = 32, .max_tokens = 4096};
      const auto most = most_scratch_bytes(dims);
      for (std::uint64_t tokens = 1; tokens <= dims.max_tokens; ++tokens) {
        const auto plan = plan_launches(tokens, dims, share, 0);
        const auto room = plan.routes_all
                              ? most_bytes_to_route_all(static_cast<std::uint32_t>(plan.dispatch.block_threads))
                              : most.dispatch;
        ASSERT_LE(scratch_bytes(dispatch_shape(tokens, dims, plan.dispatch.chunk_tokens, plan.routes_all)), room)
            << tokens;
        protocol::combine_params sums;
        sums.ws.layout.dims = dims;
        sums.reduce_shift = static_cast<std::uint32_t>(std::countr_zero(plan.reduce_tokens));
        ASSERT_LE(scratch_bytes(sums), most.combine) << tokens;
      }
    }
  }
}

TEST(cuda_launch_shape, each_row_of_a_lamport_step_has_a_worker_where_there_are_enough) {
  const layout::extents pair{.ep_size = 2, .top_k = 8, .max_tokens = 8192, .lamport_tokens = 512};
  const auto one = plan_lamport(1, pair, whole_device, 0);
  EXPECT_EQ(one.dispatch.num_blocks, 2);
  const auto few = plan_lamport(128, pair, whole_device, 0);
  EXPECT_EQ(few.dispatch.num_blocks, 128 + 1);
  EXPECT_EQ(few.combine.num_blocks, 128 + 1);
  EXPECT_EQ(few.dispatch.block_threads, static_cast<int>(wide_block));
  EXPECT_TRUE(may_overlap(few.combine, few.dispatch, whole_device));
  const auto more = plan_lamport(512, pair, whole_device, 0);
  EXPECT_EQ(more.dispatch.num_blocks, whole_device.multiprocessors);
  EXPECT_TRUE(may_overlap(more.combine, more.dispatch, whole_device));
  const layout::extents node{.ep_size = 8, .top_k = 8, .max_tokens = 8192, .lamport_tokens = 128};
  EXPECT_EQ(plan_lamport(8, node, whole_device, 0).dispatch.num_blocks, 8 * 7 + 1);
}

TEST(cuda_launch_shape, a_lamport_launch_keeps_within_its_places) {
  const layout::extents dims{.ep_size = 8, .top_k = 8, .max_tokens = 8192, .lamport_tokens = 512};
  for (int ranks = 1; ranks <= 131 * 3; ranks += 13) {
    auto share = whole_device;
    share.ranks = ranks;
    for (const std::uint64_t tokens : {1U, 3U, 64U, 65U, 512U}) {
      for (const int max_blocks : {0, 1, 3}) {
        const auto plan = plan_lamport(tokens, dims, share, max_blocks);
        for (const auto& phase : {plan.dispatch, plan.combine}) {
          EXPECT_GE(phase.num_blocks, 1);
          EXPECT_LE(phase.num_blocks, share.places_for(phase));
          if (max_blocks > 0) {
            EXPECT_LE(phase.num_blocks, max_blocks);
          }
          EXPECT_EQ(phase.block_threads, static_cast<int>(ranks > 1 ? narrow_block : wide_block));
        }
      }
    }
  }
}

TEST(cuda_launch_shape, lamport_outputs_of_odd_sizes_go_by_narrow_blocks) {
  const layout::extents dims{.ep_size = 2, .top_k = 8, .max_tokens = 64, .lamport_tokens = 64};
  const auto plan = plan_lamport(64, dims, whole_device, 0).combine;
  EXPECT_EQ(lamport_combine_of(plan, 4, whole_device).block_threads, static_cast<int>(wide_block));
  const auto odd = lamport_combine_of(plan, 2, whole_device);
  EXPECT_EQ(odd.block_threads, static_cast<int>(narrow_block));
  EXPECT_GE(odd.num_blocks, 1);
  EXPECT_LE(odd.num_blocks, whole_device.narrow_places());
}

TEST(cuda_launch_shape, a_lamport_step_has_room_for_what_it_keeps) {
  for (const std::uint64_t ranks : {1U, 2U, 8U, 72U, 256U}) {
    for (const std::uint64_t top_k : {1U, 32U}) {
      const layout::extents dims{.ep_size = ranks, .top_k = top_k, .max_tokens = 1, .lamport_tokens = 1};
      protocol::dispatch_params dispatch;
      protocol::combine_params combine;
      dispatch.ws.ep_size = combine.ws.ep_size = static_cast<std::int32_t>(ranks);
      dispatch.ws.layout.dims = combine.ws.layout.dims = dims;
      for (auto* words : {&dispatch.words, &combine.words}) {
        protocol::set(*words, protocol::header_word::transport, static_cast<std::uint32_t>(transport::lamport));
      }
      const auto most = most_scratch_bytes(dims);
      EXPECT_LE(protocol::scratch_words(dispatch) * sizeof(std::uint32_t), most.dispatch) << ranks << ' ' << top_k;
      EXPECT_LE(protocol::scratch_words(combine) * sizeof(std::uint32_t), most.combine) << ranks << ' ' << top_k;
    }
  }
}

TEST(cuda_launch_shape, launches_overlap_where_half_of_the_gpu_is_enough) {
  const layout::extents pair{.ep_size = 2, .top_k = 8, .max_tokens = 8192};
  for (const std::uint64_t tokens : {1U, 16U, 256U, 512U}) {
    const auto plan = plan_launches(tokens, pair, whole_device, 0);
    EXPECT_TRUE(may_overlap(plan.combine, plan.dispatch, whole_device)) << tokens;
  }
}

TEST(cuda_launch_shape, small_steps_route_all_tokens_at_once_where_there_is_room) {
  const layout::extents pair{.ep_size = 2, .top_k = 8, .max_tokens = 8192};
  EXPECT_TRUE(plan_launches(1, pair, whole_device, 0).routes_all);
  EXPECT_TRUE(plan_launches(1024, pair, whole_device, 0).routes_all);
  EXPECT_FALSE(plan_launches(1025, pair, whole_device, 0).routes_all);
  auto half = whole_device;
  half.ranks = 2;
  EXPECT_FALSE(plan_launches(1, pair, half, 0).routes_all) << "narrow blocks have no room";
  EXPECT_FALSE(plan_launches(1024, {.ep_size = 256, .top_k = 8, .max_tokens = 8192}, whole_device, 0).routes_all);
}

}  // namespace
}  // namespace switchyard::cuda
