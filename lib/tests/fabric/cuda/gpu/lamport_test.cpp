// SPDX-License-Identifier: Apache-2.0
// Lamport steps on one GPU: one rank has wide blocks, several have narrow ones.
#include "lamport_steps.hpp"

#include <gtest/gtest.h>

namespace switchyard {
namespace {

class gpu_lamport : public test::gpu_test<1> {};

TEST_F(gpu_lamport, every_byte_is_the_host_fabrics_for_one_to_eight_ranks) {
  for (int ep_size = 1; ep_size <= 8; ++ep_size) test::expect_lamport_steps(ep_size, 1);
}

TEST_F(gpu_lamport, every_dtype_and_odd_widths_of_combine) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    for (const std::int64_t hidden : {256, 37, 1}) {
      auto shape = test::lamport_exchange(3);
      shape.params.dtype = type;
      shape.params.dispatch_format.reset();
      shape.combine_hidden_size = hidden;
      shape.row_bytes = {36, 16, 4, 0, 0};
      shape.zero_copy = hidden == 256;
      test::expect_as_on_host(shape, 1, 4);
    }
  }
}

TEST_F(gpu_lamport, a_few_blocks_get_through) {
  for (const int blocks : {1, 3}) {
    auto shape = test::lamport_exchange(2);
    shape.config.max_blocks = blocks;
    shape.zero_copy = false;
    test::expect_as_on_host(shape, 1, 4);
  }
}

TEST_F(gpu_lamport, rows_of_a_model) {
  for (const int ep_size : {1, 4}) test::expect_lamport_models(ep_size, 1);
}

}  // namespace
}  // namespace switchyard
