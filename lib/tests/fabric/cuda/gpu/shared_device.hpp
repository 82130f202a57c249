// SPDX-License-Identifier: Apache-2.0
// Steps beside other work on the same GPU, named after the reports that they come from. BUGS in short:
// B11 (FlashMoE#3): most of the GPU is taken, so the blocks of a launch are not resident together.
// B12 (DeepEP#496): another library's collective on a second stream, in the opposite order on the other rank.
#pragma once

#include <chrono>
#include <thread>

#include "cuda_group.hpp"
#include "device_counters.hpp"
#include "test_kernels.hpp"

namespace switchyard::test {

/// A stream of the current device that waits for no other.
class plain_stream {
 public:
  plain_stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~plain_stream() { (void)cudaStreamDestroy(stream_); }
  plain_stream(const plain_stream&) = delete;
  plain_stream& operator=(const plain_stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Where many steps go onto a stream without a pause: a launch that finds the queue of the device full (some thousand
/// launches) waits inside the driver, and other ranks' threads of the process may then not get into it either.
inline void pause_now_and_then(const cuda_group& group, int rank, int step) {
  constexpr int steps_at_once = 32;
  if (step % steps_at_once == steps_at_once - 1) group.synchronize(rank);
}

inline exchange model_exchange(int ep_size, std::int64_t tokens) {
  exchange shape;
  shape.ep_size = ep_size;
  shape.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = tokens, .hidden_size = 7168};
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(8);
  shape.tokens_per_rank = tokens;
  shape.row_bytes = {14336, 32, 32, 0, 0};
  shape.combine_hidden_size = 7168;
  shape.zero_copy = false;
  return shape;
}

/// One step of `made` on every rank, and its outputs.
inline std::vector<std::vector<std::byte>> outputs_of_a_step(cuda_group& group, const exchange& shape,
                                                             const std::vector<rank_bytes>& made) {
  std::vector<std::vector<std::byte>> outputs(static_cast<std::size_t>(shape.ep_size));
  on_every_rank(shape.ep_size, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    group.make_current(rank);
    auto& mine = group.step(rank);
    const auto stream = group.stream(rank);
    mine.upload(made[index], stream);
    mine.dispatch(group.instance(rank), stream);
    mine.combine(group.instance(rank), stream);
    mine.download_output(stream);
    group.synchronize(rank);
    const auto fault = group.instance(rank).status();
    ASSERT_FALSE(fault) << "rank " << rank << ": " << to_string(fault->code) << " in " << to_string(fault->phase);
    outputs[index] = mine.output_bytes();
  });
  return outputs;
}

/// A step with all but `free` multiprocessors of every GPU held by others gives what it gives with all of them.
inline void expect_a_step_beside_holders(int num_devices, std::int64_t tokens, const std::vector<int>& frees) {
  load_test_kernels(num_devices);
  const auto shape = model_exchange(num_devices, tokens);
  cuda_group group(shape, num_devices);
  std::vector<rank_bytes> made;
  for (int rank = 0; rank < shape.ep_size; ++rank) made.push_back(make_inputs(shape, rank, 4 * rank + 3 * rank));
  const auto should_be = outputs_of_a_step(group, shape, made);
  for (const int free : frees) {
    const host_words words(static_cast<std::size_t>(num_devices) + 1);  // arrived on each device; release
    const auto release = static_cast<std::size_t>(num_devices);
    const auto arrived = [&] {
      std::uint32_t sum = 0;
      for (std::size_t device = 0; device < release; ++device) sum += words.load(device);
      return sum;
    };
    std::vector<std::unique_ptr<plain_stream>> streams;
    std::uint32_t held = 0;
    for (int device = 0; device < num_devices; ++device) {
      check_cuda(cudaSetDevice(device));
      int multiprocessors = 0;
      check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
      ASSERT_GT(multiprocessors, free);
      streams.push_back(std::make_unique<plain_stream>());
      launch_holders(multiprocessors - free, words.at(static_cast<std::size_t>(device)), words.at(release),
                     streams.back()->get());
      held += static_cast<std::uint32_t>(multiprocessors - free);
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (arrived() < held && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    const auto came = arrived();
    const auto outputs = outputs_of_a_step(group, shape, made);
    words.store(release, 1);
    for (const auto& stream : streams) check_cuda(cudaStreamSynchronize(stream->get()));
    ASSERT_EQ(came, held) << "the holders did not all come, so nothing was shown";
    for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
      EXPECT_EQ(difference(outputs[rank], should_be[rank], shape.combine_row_bytes()), "equal")
          << free << " multiprocessors free, rank " << rank;
    }
  }
}

/// Loops of a collective and a step on two streams without events, in the opposite order on odd ranks.
inline void expect_steps_beside_meetings(int num_devices, int loops) {
  load_test_kernels(num_devices);
  const auto shape = model_exchange(2, 128);
  cuda_group group(shape, num_devices);
  std::vector<rank_bytes> made;
  for (int rank = 0; rank < 2; ++rank) made.push_back(make_inputs(shape, rank, 4 * rank + 3 * rank));
  const auto should_be = outputs_of_a_step(group, shape, made);
  const host_words words(3);  // of either rank: blocks that have come; given up
  std::vector<std::unique_ptr<plain_stream>> streams;
  for (int rank = 0; rank < 2; ++rank) {
    group.make_current(rank);
    streams.push_back(std::make_unique<plain_stream>());
  }
  on_every_rank(2, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    group.make_current(rank);
    auto& mine = group.step(rank);
    const auto& beside = *streams[index];
    const auto meet = [&](int loop) {
      launch_meeting(words.at(index), words.at(1 - index), static_cast<std::uint32_t>(loop + 1), words.at(2),
                     beside.get());
    };
    for (int loop = 0; loop < loops; ++loop) {
      if (rank == 0) meet(loop);
      mine.dispatch(group.instance(rank), group.stream(rank));
      mine.combine(group.instance(rank), group.stream(rank));
      if (rank == 1) meet(loop);
    }
    mine.download_output(group.stream(rank));
    group.synchronize(rank);
    check_cuda(cudaStreamSynchronize(beside.get()));
    ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank;
    EXPECT_EQ(difference(mine.output_bytes(), should_be[index], shape.combine_row_bytes()), "equal") << rank;
  });
  EXPECT_EQ(words.load(2), 0U) << "blocks of the collective that gave up";
}

}  // namespace switchyard::test
