// SPDX-License-Identifier: Apache-2.0
// Which kernels a workspace gets: the rule alone, which needs neither CUDA nor a kernel.
#include <gtest/gtest.h>

#include "fabric/cuda/phase_kernels.hpp"
#include "rules.hpp"

namespace switchyard::cuda {
namespace {

template <int family>
void dispatch_of(protocol::dispatch_params /*params*/) {}
template <int family>
void combine_of(protocol::combine_params /*params*/) {}

/// Kernels that are told apart by their addresses.
template <int family>
phase_kernels kernels_of_family() {
  return {dispatch_of<2 * family>,
          dispatch_of<2 * family + 1>,
          {combine_of<6 * family>, combine_of<6 * family + 1>, combine_of<6 * family + 2>},
          {combine_of<6 * family + 3>, combine_of<6 * family + 4>, combine_of<6 * family + 5>}};
}

const kernel_set set{kernels_of_family<0>(), kernels_of_family<1>(), kernels_of_family<2>()};
constexpr comm_params shape{.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 16, .hidden_size = 64};

TEST(kernel_set, without_the_options_wide_blocks_are_those_that_have_no_code_for_them) {
  const one_sided_config plain;
  EXPECT_EQ(&set.of(wide_block, extents_of(shape, plain, 2)), &set.wide);
  auto masked = plain;
  masked.enable_rank_mask = true;
  EXPECT_EQ(&set.of(wide_block, extents_of(shape, masked, 2)), &set.wide_full);
  auto gathering = plain;
  gathering.eplb_stats_num_experts = 8;
  EXPECT_EQ(&set.of(wide_block, extents_of(shape, gathering, 2)), &set.wide_full);
}

TEST(kernel_set, what_else_a_workspace_can_do_asks_for_no_other_kernels) {
  one_sided_config config;
  config.lamport = choice::on;
  config.low_precision_combine = low_precision::fp8;
  config.extra_payload_bytes_per_token = 64;
  EXPECT_EQ(&set.of(wide_block, extents_of(shape, config, 2)), &set.wide);
}

TEST(kernel_set, ranks_that_share_a_gpu_have_narrow_blocks_with_all_of_it) {
  one_sided_config config;
  EXPECT_EQ(&set.of(narrow_block, extents_of(shape, config, 2)), &set.narrow);
  config.enable_rank_mask = true;
  EXPECT_EQ(&set.of(narrow_block, extents_of(shape, config, 2)), &set.narrow);
}

TEST(kernel_set, a_phase_gets_the_kernel_of_its_transport_and_type) {
  protocol::dispatch_params dispatch;
  EXPECT_EQ(set.wide.of(dispatch), set.wide.dispatch);
  protocol::set(dispatch.words, protocol::header_word::transport, static_cast<std::uint32_t>(transport::lamport));
  EXPECT_EQ(set.wide.of(dispatch), set.wide.lamport_dispatch);
  protocol::combine_params combine;
  combine.type = dtype::fp16;
  EXPECT_EQ(set.wide.of(combine), set.wide.combine[1]);
  protocol::set(combine.words, protocol::header_word::transport, static_cast<std::uint32_t>(transport::lamport));
  combine.type = dtype::fp32;
  EXPECT_EQ(set.wide.of(combine), set.wide.lamport_combine[2]);
}

}  // namespace
}  // namespace switchyard::cuda
