// SPDX-License-Identifier: Apache-2.0
// Many steps without a pause, each checked on the GPU at once, for races that show seldom:
// B08 (DeepEP#621): rows of combine that are wrong now and then.
// B13 (vllm#45448): a launch that begins before the one ahead of it has stored its result.
#pragma once

#include <atomic>

#include "cuda_group.hpp"
#include "device_counters.hpp"
#include "shared_device.hpp"
#include "test_kernels.hpp"

namespace switchyard::test {

/// Tokens of zeros or ones, in turn from step to step, to experts 0 .. slots-1, all of rank 0; each comes back times
/// `slots`. Ranks without tokens pass rows that name no expert.
class all_to_rank_0 {
 public:
  all_to_rank_0(int ep_size, std::int64_t tokens, int slots, bool only_rank_0_sends)
      : slots_(slots), only_rank_0_sends_(only_rank_0_sends), shape_(model_exchange(ep_size, tokens)) {
    shape_.params.top_k = slots;
    shape_.row_bytes = {14336, static_cast<std::size_t>(slots) * 4, 0, 0, 0};
  }

  /// How many output rows were wrong, over all ranks and steps.
  std::uint64_t wrong_rows(int num_devices, int steps) {
    load_test_kernels(num_devices);
    cuda_group group(shape_, num_devices, 0);
    std::vector<std::uint64_t> wrong(static_cast<std::size_t>(shape_.ep_size));
    on_every_rank(shape_.ep_size, [&](int rank) {
      group.make_current(rank);
      rank_buffers mine(*this, rank);
      meeting_.arrive(shape_.ep_size);  // taking memory, too, may wait for the device
      for (int step = 0; step < steps; ++step) {
        run(group, rank, mine, step % 2);
        pause_now_and_then(group, rank, step);
      }
      group.synchronize(rank);
      ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank;
      meeting_.arrive(shape_.ep_size);  // value() waits for the device
      wrong[static_cast<std::size_t>(rank)] = mine.wrong.value();
    });
    std::uint64_t sum = 0;
    for (const auto of_rank : wrong) sum += of_rank;
    return sum;
  }

 private:
  struct rank_buffers {
    rank_buffers(const all_to_rank_0& of, int rank)
        : inputs{device_bytes(of.bytes()), device_bytes(of.bytes())},
          sums{device_bytes(of.bytes()), device_bytes(of.bytes())},
          ids(of.num_tokens() * static_cast<std::size_t>(of.slots_) * 4),
          experts(of.shape_.receive_rows() * of.shape_.combine_row_bytes()),
          output(of.bytes()) {
      const bool sends = rank == 0 || !of.only_rank_0_sends_;
      const std::uint16_t whole = of.slots_ == 8 ? 0x4100 : 0x4000;
      for (int parity = 0; parity < 2; ++parity) {
        fill(inputs[parity], of, parity, 0x3F80);
        fill(sums[parity], of, parity, sends ? whole : 0);
      }
      std::vector<std::int32_t> named(of.num_tokens() * static_cast<std::size_t>(of.slots_));
      for (std::size_t i = 0; i < named.size(); ++i) {
        named[i] = sends ? static_cast<std::int32_t>(i % static_cast<std::size_t>(of.slots_)) : -1;
      }
      check_cuda(cudaMemcpy(ids.data(), named.data(), ids.size(), cudaMemcpyHostToDevice));
    }
    static void fill(const device_bytes& into, const all_to_rank_0& of, int parity, std::uint16_t value) {
      std::vector<std::uint16_t> rows(into.size() / 2);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto token = i / static_cast<std::size_t>(of.shape_.params.hidden_size);
        rows[i] = (token + static_cast<std::size_t>(parity)) % 2 == 0 ? value : 0;
      }
      check_cuda(cudaMemcpy(into.data(), rows.data(), into.size(), cudaMemcpyHostToDevice));
    }

    device_bytes inputs[2];
    device_bytes sums[2];
    device_bytes ids;
    device_bytes experts;
    device_bytes output;
    device_count wrong;
  };

  /// A meeting of the ranks, between what they have on the device.
  class all_here {
   public:
    void arrive(int expected) {
      const auto ticket = come_.fetch_add(1) + 1;
      const auto round_end = (ticket + expected - 1) / expected * expected;
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);  // somebody has failed
      while (come_.load() < round_end && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    }

   private:
    std::atomic<int> come_{0};
  };

  void run(cuda_group& group, int rank, rank_buffers& mine, int parity) {
    const auto stream = group.stream(rank);
    auto& instance = group.instance(rank);
    dispatch_inputs in;
    in.num_tokens = shape_.tokens_per_rank;
    in.hidden_states = {mine.inputs[parity].data(), shape_.row_bytes[0], true};
    in.topk_ids = {mine.ids.data(), shape_.row_bytes[1], true};
    const auto views = instance.dispatch(in, {shape_.tokens_per_rank}, stream);
    launch_scale(reinterpret_cast<std::uint16_t*>(mine.experts.data()),
                 reinterpret_cast<const std::uint16_t*>(views.hidden_states.data), mine.experts.size() / 2,
                 slots_ == 8 ? 0x4100 : 0x4000, stream);
    launch_fill(mine.output.data(), std::byte{0xFF}, mine.output.size(), stream);
    instance.combine({mine.experts.data(), 7168, dtype::bf16}, {mine.output.data(), shape_.tokens_per_rank}, stream);
    launch_compare(mine.output.data(), mine.sums[parity].data(), shape_.combine_row_bytes(), num_tokens(),
                   mine.wrong.get(), stream);
  }
  [[nodiscard]] std::size_t num_tokens() const { return static_cast<std::size_t>(shape_.tokens_per_rank); }
  [[nodiscard]] std::size_t bytes() const { return num_tokens() * shape_.combine_row_bytes(); }

  int slots_;
  bool only_rank_0_sends_;
  exchange shape_;
  all_here meeting_;
};

/// Steps of the same inputs, each followed at once by a launch that copies the output, which was NaN before; the copy
/// must be the output every time.
inline void expect_no_poison_in_copies(int num_devices, std::int64_t tokens, choice pdl, int steps) {
  load_test_kernels(num_devices);
  auto shape = model_exchange(2, tokens);
  shape.config.enable_pdl = pdl;
  cuda_group group(shape, num_devices, 1);
  std::vector<rank_bytes> made;
  for (int rank = 0; rank < 2; ++rank) made.push_back(make_inputs(shape, rank, 4 * rank + 3 * rank));
  const auto should_be = outputs_of_a_step(group, shape, made);
  const bool early = pdl == choice::on;
  std::vector<std::uint64_t> wrong(2);
  std::vector<std::unique_ptr<device_bytes>> held;
  std::vector<std::unique_ptr<device_count>> counts;
  for (int rank = 0; rank < 2; ++rank) {
    group.make_current(rank);
    const auto bytes = should_be[static_cast<std::size_t>(rank)].size();
    for (int i = 0; i < 2; ++i) held.push_back(std::make_unique<device_bytes>(bytes));
    check_cuda(cudaMemcpy(held[static_cast<std::size_t>(2 * rank)]->data(),
                          should_be[static_cast<std::size_t>(rank)].data(), bytes, cudaMemcpyHostToDevice));
    counts.push_back(std::make_unique<device_count>());
  }
  on_every_rank(2, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    group.make_current(rank);
    auto& mine = group.step(rank);
    const auto stream = group.stream(rank);
    const auto bytes = should_be[index].size();
    for (int step = 0; step < steps; ++step) {
      launch_fill(mine.output().data(), std::byte{0xFF}, bytes, stream);
      mine.dispatch(group.instance(rank), stream);
      mine.combine(group.instance(rank), stream);
      launch_copy(held[2 * index + 1]->data(), mine.output().data(), bytes,
                  early ? start::early : start::after_the_launch_before, stream);
      launch_compare(held[2 * index + 1]->data(), held[2 * index]->data(), shape.combine_row_bytes(),
                     bytes / shape.combine_row_bytes(), counts[index]->get(), stream);
      pause_now_and_then(group, rank, step);
    }
    group.synchronize(rank);
    ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank;
  });
  for (int rank = 0; rank < 2; ++rank) {
    group.make_current(rank);
    EXPECT_EQ(counts[static_cast<std::size_t>(rank)]->value(), 0U) << "rank " << rank << ", " << tokens << " tokens";
  }
}

}  // namespace switchyard::test
