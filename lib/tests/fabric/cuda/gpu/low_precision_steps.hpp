// SPDX-License-Identifier: Apache-2.0
// Steps in low precision on GPUs, every byte compared with the host fabric, whose sums are the golden model's.
#pragma once

#include "cuda_group.hpp"

namespace switchyard::test {

/// Every format, dtype and transport: rows of whole units, of odd ends, and longer than a block has threads for.
inline void expect_low_precision_as_on_host(int gpus, int ep_size) {
  for (const auto format : {low_precision::fp8, low_precision::fp8_block_scaled}) {
    for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
      for (const auto lamport : {choice::off, choice::on}) {
        for (const std::int64_t hidden : {1, 37, 256, 2200, 9216}) {
          auto shape = small_exchange(ep_size);
          shape.config.low_precision_combine = format;
          shape.config.lamport = lamport;
          shape.config.extra_payload_bytes_per_token = 0;
          shape.params.dtype = type;
          shape.params.dispatch_format.reset();
          shape.params.hidden_size = 9216;
          shape.combine_hidden_size = hidden;
          shape.row_bytes = {36, 16, 4, 0, 0};
          shape.tokens_per_rank = 41;
          shape.hard_words = hidden == 256;
          shape.zero_copy = hidden % 2 == 0;
          expect_as_on_host(shape, gpus, 3);
        }
      }
    }
  }
}

/// Rows of a model by many tokens and by few; steps without a pause.
inline void expect_low_precision_model_rows_as_on_host(int gpus) {
  for (const auto format : {low_precision::fp8, low_precision::fp8_block_scaled}) {
    auto shape = small_exchange(2);
    shape.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 300, .hidden_size = 7168};
    shape.config.extra_payload_bytes_per_token = 0;
    shape.config.lamport_max_tokens = 64;
    shape.config.low_precision_combine = format;
    for (const std::int64_t tokens : {1, 64, 300}) {
      shape.tokens_per_rank = tokens;
      shape.row_bytes = {14336, 32, 32, 0, 0};
      shape.combine_hidden_size = 7168;
      expect_as_on_host(shape, gpus, 3);
    }
    shape.tokens_per_rank = 64;
    expect_outputs_without_a_pause(shape, gpus, 20);
  }
}

}  // namespace switchyard::test
