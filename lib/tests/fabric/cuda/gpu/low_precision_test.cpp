// SPDX-License-Identifier: Apache-2.0
// Combines in low precision with all ranks on one GPU: by narrow blocks.
#include <gtest/gtest.h>

#include "low_precision_steps.hpp"

namespace switchyard {
namespace {

class gpu_low_precision : public test::gpu_test<1> {};

TEST_F(gpu_low_precision, every_byte_is_the_host_fabrics) {
  for (const int ep_size : {1, 3}) test::expect_low_precision_as_on_host(1, ep_size);
}

TEST_F(gpu_low_precision, rows_of_a_model) { test::expect_low_precision_model_rows_as_on_host(1); }

TEST_F(gpu_low_precision, one_block_alone_gets_through) {
  for (const auto lamport : {choice::off, choice::on}) {
    auto shape = test::small_exchange(2);
    shape.config.low_precision_combine = low_precision::fp8_block_scaled;
    shape.config.lamport = lamport;
    shape.config.extra_payload_bytes_per_token = 0;
    shape.row_bytes[4] = 0;
    shape.tokens_per_rank = 33;
    shape.config.max_blocks = 1;
    test::expect_as_on_host(shape, 1, 4);
  }
}

}  // namespace
}  // namespace switchyard
