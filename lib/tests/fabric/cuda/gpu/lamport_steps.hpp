// SPDX-License-Identifier: Apache-2.0
// Lamport steps on GPUs, every byte compared with the host fabric's.
#pragma once

#include "cuda_group.hpp"

namespace switchyard::test {

/// Rows of multiples of 4 bytes, few of them of 16, of any bits.
inline exchange lamport_exchange(int ep_size) {
  auto shape = small_exchange(ep_size);
  shape.config.extra_payload_bytes_per_token = 20;
  shape.row_bytes = {252, 16, 12, 8, 20};
  shape.tokens_per_rank = 41;
  shape.hard_words = true;
  return shape;
}

/// A decode step of a model with rows of 14336 bytes.
inline exchange lamport_model(int ep_size, std::int64_t tokens) {
  auto shape = small_exchange(ep_size);
  shape.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 128, .hidden_size = 7168};
  shape.config.extra_payload_bytes_per_token = 0;
  shape.config.lamport_max_tokens = 128;
  shape.tokens_per_rank = tokens;
  shape.row_bytes = {14336, 32, 32, 0, 0};
  shape.combine_hidden_size = 7168;
  return shape;
}

inline void expect_lamport_steps(int ep_size, int num_devices) {
  expect_as_on_host(lamport_exchange(ep_size), num_devices, 6);
  auto whole_units = lamport_exchange(ep_size);
  whole_units.row_bytes = {256, 16, 16, 8, 0};
  expect_as_on_host(whole_units, num_devices, 6);
  expect_outputs_without_a_pause(whole_units, num_devices, 30);
}

inline void expect_lamport_models(int ep_size, int num_devices) {
  for (const std::int64_t tokens : {1, 2, 16, 64, 65, 128}) {
    auto shape = lamport_model(ep_size, tokens);
    shape.zero_copy = tokens % 2 == 0;
    shape.hard_words = tokens == 16;
    expect_as_on_host(shape, num_devices, 3);
    expect_outputs_without_a_pause(shape, num_devices, 10);
  }
}

}  // namespace switchyard::test
