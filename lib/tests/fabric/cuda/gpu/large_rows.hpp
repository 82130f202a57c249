// SPDX-License-Identifier: Apache-2.0
// B02 (Triton-distributed#203): 8 ranks of 65536 tokens of 8192 bf16 make buffers of 2^32 elements. One rank sends all
// that it can to another, so that the first and the last row lie on either side of what 32 bits count.
#pragma once

#include "cuda_group.hpp"
#include "device_counters.hpp"
#include "test_kernels.hpp"

namespace switchyard::test {

inline void expect_exact_rows_beyond_32_bits(int num_devices) {
  constexpr int ep_size = 8;
  constexpr int sender = 7;
  constexpr std::int64_t tokens = 65536;
  constexpr std::size_t row_bytes = 16384;
  constexpr std::size_t sent_bytes = static_cast<std::size_t>(tokens) * row_bytes;
  exchange shape;
  shape.ep_size = ep_size;
  shape.params = {.num_experts = 8, .top_k = 1, .max_tokens_per_rank = tokens, .hidden_size = 8192};
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(20);
  shape.tokens_per_rank = tokens;
  load_test_kernels(num_devices);
  cuda_group group(shape, num_devices, 0);
  group.make_current(sender);
  const device_bytes rows(sent_bytes);
  const device_bytes ids(static_cast<std::size_t>(tokens) * 4);
  const device_bytes output(sent_bytes);
  const device_count wrong_sums;
  group.make_current(0);
  const device_count wrong_rows;

  on_every_rank(ep_size, [&](int rank) {
    group.make_current(rank);
    auto& instance = group.instance(rank);
    const auto stream = group.stream(rank);
    const bool sends = rank == sender;
    if (sends) {
      launch_pattern(reinterpret_cast<std::uint32_t*>(rows.data()), sent_bytes / 4, 7, stream);
      launch_fill(ids.data(), std::byte{0}, ids.size(), stream);
      launch_fill(output.data(), std::byte{0xFF}, output.size(), stream);
    }
    dispatch_inputs in;
    in.num_tokens = sends ? tokens : 0;
    in.hidden_states = {rows.data(), row_bytes, true};
    in.topk_ids = {ids.data(), 4, true};
    for (int step = 0; step < 2; ++step) {
      const auto views = instance.dispatch(in, {tokens}, stream);
      const auto offset = static_cast<std::size_t>(sender) * sent_bytes;
      auto* expert_rows = instance.combine_input_buffer(dtype::bf16).data;
      if (rank == 0) {
        launch_check_pattern(reinterpret_cast<const std::uint32_t*>(views.hidden_states.data + offset), sent_bytes / 4,
                             7, wrong_rows.get(), stream);
        check_cuda(cudaMemcpyAsync(expert_rows + offset, views.hidden_states.data + offset, sent_bytes,
                                   cudaMemcpyDeviceToDevice, stream));
      }
      instance.combine({expert_rows, 8192, dtype::bf16}, {output.data(), in.num_tokens}, stream);
      if (sends) {
        launch_check_pattern(reinterpret_cast<const std::uint32_t*>(output.data()), sent_bytes / 4, 7, wrong_sums.get(),
                             stream);
        launch_fill(output.data(), std::byte{0xFF}, output.size(), stream);
      }
    }
    group.synchronize(rank);
    const auto fault = instance.status();
    ASSERT_FALSE(fault) << "rank " << rank << ": " << to_string(fault->code);
  });
  EXPECT_EQ(wrong_rows.value(), 0U) << "words of rows received";
  group.make_current(sender);
  EXPECT_EQ(wrong_sums.value(), 0U) << "words of sums";
}

}  // namespace switchyard::test
