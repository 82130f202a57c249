// SPDX-License-Identifier: Apache-2.0
// A small EP group on GPUs: one thread, one stream, one instance and one set of buffers per rank.
#pragma once

#include <barrier>
#include <memory>
#include <vector>

#include "device_memory.hpp"
#include "fabric/cuda/cuda_fabric.hpp"
#include "support/exchange.hpp"
#include "test_kernels.hpp"

namespace switchyard::test {

/// Buffers of one rank for one step, and the steps' calls on its stream. Nothing here waits or allocates after it is
/// made, until synchronize().
class cuda_step {
 public:
  explicit cuda_step(const exchange& shape)
      : shape_(shape),
        experts_(shape.receive_rows() * shape.combine_row_bytes()),
        output_(static_cast<std::size_t>(shape.tokens_per_rank) * shape.combine_row_bytes()),
        held_experts_(experts_.size()),
        held_output_(output_.size()),
        held_counts_(static_cast<std::size_t>(shape.ep_size) * 4) {
    for (std::size_t i = 0; i < 5; ++i) {
      const auto rows = static_cast<std::size_t>(shape.tokens_per_rank);
      inputs_.push_back(std::make_unique<device_bytes>(rows * shape.row_bytes[i]));
      held_inputs_.push_back(std::make_unique<pinned_bytes>(rows * shape.row_bytes[i]));
      held_views_.push_back(std::make_unique<pinned_bytes>(shape.receive_rows() * shape.row_bytes[i]));
    }
  }

  /// Puts new inputs where the old ones were.
  void upload(const rank_bytes& made, cudaStream_t stream) {
    num_tokens_ = made.num_tokens;
    for (std::size_t i = 0; i < 5; ++i) copy_in(*inputs_[i], *held_inputs_[i], made.payloads[i], stream);
    copy_in(experts_, held_experts_, made.experts, stream);
    check_cuda(cudaMemsetAsync(output_.data(), 0xCD, output_.size(), stream));
  }

  dispatch_result dispatch(one_sided_all_to_all& instance, cudaStream_t stream) {
    received_ = instance.dispatch(inputs(), {shape_.tokens_per_rank}, stream);
    return received_;
  }
  [[nodiscard]] dispatch_inputs inputs() const {
    dispatch_inputs in;
    in.num_tokens = num_tokens_;
    for (std::size_t i = 0; i < 5; ++i) {
      in.*input_payloads[i] = {inputs_[i]->data(), shape_.row_bytes[i], shape_.row_bytes[i] != 0};
    }
    return in;
  }

  void combine(one_sided_all_to_all& instance, cudaStream_t stream) {
    const void* rows = experts_.data();
    if (shape_.zero_copy) {
      auto* offered = instance.combine_input_buffer(shape_.params.dtype).data;
      check_cuda(cudaMemcpyAsync(offered, rows, experts_.size(), cudaMemcpyDeviceToDevice, stream));
      rows = offered;
    }
    instance.combine({rows, shape_.combine_hidden_size, shape_.params.dtype}, {output_.data(), num_tokens_}, stream);
  }

  /// Queues copies of the views; to be called between dispatch and combine.
  void download_views(cudaStream_t stream) {
    copy_out(held_counts_, received_.recv_counts.data(), held_counts_.size(), stream);
    for (std::size_t i = 0; i < 5; ++i) {
      if (shape_.row_bytes[i] != 0) {
        copy_out(*held_views_[i], (received_.*result_views[i]).data, held_views_[i]->size(), stream);
      }
    }
  }
  void download_output(cudaStream_t stream) { copy_out(held_output_, output_.data(), output_.size(), stream); }

  /// After synchronize: what was downloaded.
  [[nodiscard]] rank_outcome outcome() const {
    rank_outcome result;
    result.counts.resize(static_cast<std::size_t>(shape_.ep_size));
    std::memcpy(result.counts.data(), held_counts_.data(), held_counts_.size());
    for (std::size_t i = 0; i < 5; ++i) {
      if (shape_.row_bytes[i] == 0) continue;
      result.views[i].assign(held_views_[i]->data(), held_views_[i]->data() + held_views_[i]->size());
    }
    blank_padding(result, shape_);
    result.output = output_bytes();
    return result;
  }
  [[nodiscard]] std::vector<std::byte> output_bytes() const {
    const auto bytes = static_cast<std::size_t>(num_tokens_) * shape_.combine_row_bytes();
    return {held_output_.data(), held_output_.data() + bytes};
  }
  [[nodiscard]] const device_bytes& output() const { return output_; }
  [[nodiscard]] const pinned_bytes& view(std::size_t payload_index) const { return *held_views_[payload_index]; }

 private:
  static void copy_in(const device_bytes& to, const pinned_bytes& held, const std::vector<std::byte>& from,
                      cudaStream_t stream) {
    if (from.empty()) return;
    std::memcpy(held.data(), from.data(), from.size());
    check_cuda(cudaMemcpyAsync(to.data(), held.data(), from.size(), cudaMemcpyHostToDevice, stream));
  }
  static void copy_out(const pinned_bytes& to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (bytes != 0) check_cuda(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyDeviceToHost, stream));
  }

  exchange shape_;
  std::int64_t num_tokens_ = 0;
  dispatch_result received_;
  std::vector<std::unique_ptr<device_bytes>> inputs_;
  device_bytes experts_;
  device_bytes output_;
  std::vector<std::unique_ptr<pinned_bytes>> held_inputs_;
  std::vector<std::unique_ptr<pinned_bytes>> held_views_;
  pinned_bytes held_experts_;
  pinned_bytes held_output_;
  pinned_bytes held_counts_;
};

class cuda_group {
 public:
  /// Rank r is on device r mod num_devices and has buffers for `steps` steps.
  cuda_group(const exchange& shape, int num_devices, int steps = 1) : shape_(shape), num_devices_(num_devices) {
    const auto size = static_cast<std::size_t>(shape.ep_size);
    streams_.resize(size);
    instances_.resize(size);
    steps_.resize(size);
    const auto backends = make_in_process_backends(shape.ep_size);
    on_every_rank(shape.ep_size, [&](int rank) {
      make_current(rank);
      const auto index = static_cast<std::size_t>(rank);
      check_cuda(cudaStreamCreateWithFlags(&streams_[index], cudaStreamNonBlocking));
      for (int step = 0; step < steps; ++step) steps_[index].push_back(std::make_unique<cuda_step>(shape));
      bootstrap boot;
      boot.rank = rank;
      boot.ep_size = shape.ep_size;
      boot.kind = fabric_kind::cuda;
      boot.device = device_of(rank);
      boot.comm_backend = backends[index];
      boot.first_epoch = 0xFFFFFFFBU;  // the wrap-around comes within the first steps
      instances_[index] = std::make_unique<one_sided_all_to_all>(boot, shape.params, shape.config);
    });
    take_streams_in_turn();
  }
  ~cuda_group() {
    for (int rank = 0; rank < shape_.ep_size; ++rank) (void)cudaStreamSynchronize(stream(rank));
    instances_.clear();
    steps_.clear();
    for (auto* stream : streams_) (void)cudaStreamDestroy(stream);
  }
  cuda_group(const cuda_group&) = delete;
  cuda_group& operator=(const cuda_group&) = delete;

  [[nodiscard]] int device_of(int rank) const { return rank % num_devices_; }
  /// Every thread that speaks for a rank calls this first.
  void make_current(int rank) const { check_cuda(cudaSetDevice(device_of(rank))); }
  [[nodiscard]] one_sided_all_to_all& instance(int rank) { return *instances_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] cudaStream_t stream(int rank) const { return streams_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] cuda_step& step(int rank, int index = 0) {
    return *steps_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
  }
  void synchronize(int rank) const { check_cuda(cudaStreamSynchronize(stream(rank))); }

 private:
  /// Streams whose first launches come from several threads at the same time may get one hardware queue between them
  /// (seen with driver 580): a launch that waits in it then keeps back another rank's that it waits for.
  void take_streams_in_turn() {
    load_test_kernels(num_devices_);
    for (int rank = 0; rank < shape_.ep_size; ++rank) {
      make_current(rank);
      launch_fill(nullptr, std::byte{0}, 0, stream(rank));
      synchronize(rank);
    }
  }

  exchange shape_;
  int num_devices_;
  std::vector<cudaStream_t> streams_;
  std::vector<std::unique_ptr<one_sided_all_to_all>> instances_;
  std::vector<std::vector<std::unique_ptr<cuda_step>>> steps_;
};

inline outcomes run_the_same_on_host(exchange shape, int steps) {
  shape.config.enable_pdl = choice::automatic;
  return run_on_host(shape, steps);
}

/// Leaves a barrier for good, so that nobody waits for a rank that has failed.
class drops_out {
 public:
  explicit drops_out(std::barrier<>& barrier) : barrier_(barrier) {}
  ~drops_out() { barrier_.arrive_and_drop(); }
  drops_out(const drops_out&) = delete;
  drops_out& operator=(const drops_out&) = delete;

 private:
  std::barrier<>& barrier_;
};

/// Runs steps with a look at everything after each, and compares with the host fabric.
inline void expect_as_on_host(const exchange& shape, int num_devices, int steps) {
  const auto should_be = run_the_same_on_host(shape, steps);
  cuda_group group(shape, num_devices, 1);
  // No copy is queued behind a kernel that waits for peers: streams may share a queue for copies, in which it would
  // stand before what the peers still need.
  std::barrier copies(shape.ep_size);
  on_every_rank(shape.ep_size, [&](int rank) {
    const drops_out leaves(copies);
    group.make_current(rank);
    auto& mine = group.step(rank);
    for (int step = 0; step < steps; ++step) {
      const auto where = "rank " + std::to_string(rank) + " step " + std::to_string(step);
      mine.upload(make_inputs(shape, rank, step), group.stream(rank));
      group.synchronize(rank);
      copies.arrive_and_wait();
      mine.dispatch(group.instance(rank), group.stream(rank));
      mine.download_views(group.stream(rank));
      group.synchronize(rank);
      copies.arrive_and_wait();
      mine.combine(group.instance(rank), group.stream(rank));
      group.synchronize(rank);
      mine.download_output(group.stream(rank));
      group.synchronize(rank);
      const auto fault = group.instance(rank).status();
      ASSERT_FALSE(fault) << where << ": " << to_string(fault->code) << " of rank " << fault->rank << ", awaited "
                          << to_string(fault->awaited);
      expect_same(mine.outcome(), should_be[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)], shape,
                  where);
    }
  });
}

/// Runs steps back to back, with nothing but the library's kernels on the stream, and compares what comes out in the
/// end. Ranks run ahead of one another, and launches of one another, as far as they are let.
inline void expect_outputs_without_a_pause(exchange shape, int num_devices, int steps) {
  shape.zero_copy = false;
  const auto should_be = run_the_same_on_host(shape, steps);
  cuda_group group(shape, num_devices, steps);
  on_every_rank(shape.ep_size, [&](int rank) {
    group.make_current(rank);
    for (int step = 0; step < steps; ++step) {
      group.step(rank, step).upload(make_inputs(shape, rank, step), group.stream(rank));
    }
    group.synchronize(rank);
  });
  on_every_rank(shape.ep_size, [&](int rank) {
    group.make_current(rank);
    for (int step = 0; step < steps; ++step) {
      group.step(rank, step).dispatch(group.instance(rank), group.stream(rank));
      group.step(rank, step).combine(group.instance(rank), group.stream(rank));
    }
    for (int step = 0; step < steps; ++step) group.step(rank, step).download_output(group.stream(rank));
    group.synchronize(rank);
    ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank;
    for (int step = 0; step < steps; ++step) {
      const auto& expected = should_be[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)].output;
      EXPECT_EQ(difference(group.step(rank, step).output_bytes(), expected, shape.combine_row_bytes()), "equal")
          << "rank " << rank << " step " << step;
    }
  });
}

}  // namespace switchyard::test
