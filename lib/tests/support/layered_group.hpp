// SPDX-License-Identifier: Apache-2.0
// Several instances for each rank of a group on the host fabric, as the layers of a model have them, and steps that say
// by themselves what must come out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

#include "support/host_group.hpp"

namespace switchyard::test {

/// Of layers that lie in groups of 2 and 4 ranks.
inline comm_params layer_params(std::int64_t max_tokens = 40) {
  comm_params params;
  params.num_experts = 8;
  params.top_k = 2;
  params.max_tokens_per_rank = max_tokens;
  params.hidden_size = 64;
  return params;
}

inline one_sided_config layer_config(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  one_sided_config config;
  config.timeout = config.warmup_timeout = timeout;
  config.lamport_max_tokens = 16;  // T on both sides of it, so that transports alternate too
  return config;
}

/// What a step of a layer sends.
struct layer_step {
  std::uint32_t number = 0;  ///< all inputs follow from it
  std::int64_t tokens_per_rank = 1;
  std::size_t row_bytes = 2;    ///< of hidden states, any format's
  std::size_t scale_bytes = 0;  ///< 0: no scales
};

class layered_group {
 public:
  explicit layered_group(int ep_size, int workers = 1) : ep_size_(ep_size) {
    backends = make_in_process_backends(ep_size);
    for (int rank = 0; rank < ep_size; ++rank) {
      streams_.push_back(std::make_unique<host_stream>(workers));
      layers_.emplace_back();
    }
  }

  [[nodiscard]] bootstrap boot_of(int rank) const {
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = ep_size_;
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    boot.host_memory = host_memory;
    return boot;
  }
  /// Another instance of `rank`; collective. Throws as construction.
  void add(int rank, const comm_params& params, const one_sided_config& config,
           const std::shared_ptr<fabric>& custom = nullptr) {
    auto boot = boot_of(rank);
    boot.custom_fabric = custom;
    layers_[static_cast<std::size_t>(rank)].push_back(std::make_unique<one_sided_all_to_all>(boot, params, config));
  }
  void add_on_every_rank(const comm_params& params, const one_sided_config& config) {
    on_every_rank(ep_size_, [&](int rank) { add(rank, params, config); });
  }

  [[nodiscard]] int ep_size() const { return ep_size_; }
  [[nodiscard]] one_sided_all_to_all& layer(int rank, std::size_t which) {
    return *layers_[static_cast<std::size_t>(rank)].at(which);
  }
  [[nodiscard]] std::size_t num_layers() const { return layers_[0].size(); }
  void drop(int rank, std::size_t which) { layers_[static_cast<std::size_t>(rank)].at(which).reset(); }
  [[nodiscard]] host_stream& stream(int rank) { return *streams_[static_cast<std::size_t>(rank)]; }

  std::vector<std::shared_ptr<comm_backend>> backends;
  std::pmr::memory_resource* host_memory = nullptr;  ///< of the workspaces of instances that are made from now on

 private:
  int ep_size_;
  std::vector<std::unique_ptr<host_stream>> streams_;
  std::vector<std::vector<std::unique_ptr<one_sided_all_to_all>>> layers_;
};

/// One rank's part of a step of a layer: tokens whose every byte is a small number of their own, experts that return
/// it, and the sum that combine must make of that. top_k is 2, the dtype bf16.
class layer_exchange {
 public:
  layer_exchange(one_sided_all_to_all& layer, host_stream& stream, const layer_step& step)
      : layer_(layer),
        stream_(stream),
        step_(step),
        num_tokens_(static_cast<std::size_t>(step.tokens_per_rank) - (step.number + rank()) % 2),
        hidden_(num_tokens_ * step.row_bytes),
        scale_(num_tokens_ * step.scale_bytes),
        ids_(num_tokens_ * 2 * sizeof(std::int32_t)),
        output_(num_tokens_ * hidden_size() * 2, 0xCD) {
    for (std::size_t token = 0; token < num_tokens_; ++token) {
      std::memset(hidden_.as<unsigned char>() + token * step.row_bytes, value_of(token), step.row_bytes);
      std::memset(scale_.as<unsigned char>() + token * step.scale_bytes, value_of(token), step.scale_bytes);
      for (std::size_t k = 0; k < 2; ++k) ids_.as<std::int32_t>()[2 * token + k] = expert_of(token, k);
    }
  }

  dispatch_result dispatch() {
    dispatch_inputs in;
    in.num_tokens = static_cast<std::int64_t>(num_tokens_);
    in.hidden_states = {hidden_.as<void>(), step_.row_bytes, true};
    if (step_.scale_bytes != 0) in.hidden_states_scale = {scale_.as<void>(), step_.scale_bytes, true};
    in.topk_ids = {ids_.as<void>(), 2 * sizeof(std::int32_t), true};
    dispatch_options options;
    options.runtime_max_tokens_per_rank = step_.tokens_per_rank;
    received_ = layer_.dispatch(in, options, stream_);
    return received_;
  }

  void combine() {
    combine_behind_experts([this](std::function<void()> experts) { stream_.enqueue(std::move(experts)); });
  }
  /// `enqueue` is given the experts and puts them before the combine, on the stream or where a capture keeps them.
  void combine_behind_experts(const std::function<void(std::function<void()>)>& enqueue) {
    const auto buffer = layer_.combine_input_buffer(dtype::bf16);
    enqueue([this, buffer, received = received_] { run_experts(buffer, received); });
    layer_.combine({buffer.data, layer_.params().hidden_size, dtype::bf16},
                   {output_.as<void>(), static_cast<std::int64_t>(num_tokens_)}, stream_);
  }

  /// Before a replay, so that the last one's result cannot be taken for its own.
  void forget_output() { std::memset(output_.as<void>(), 0xCD, num_tokens_ * hidden_size() * 2); }

  /// Once the stream has come to it.
  void expect_exact() {
    const auto fault = layer_.status();
    ASSERT_FALSE(fault) << "rank " << rank() << " step " << step_.number << ": " << to_string(fault->code)
                        << " of rank " << fault->rank << " seen by " << fault->origin;
    EXPECT_EQ(odd_bytes_, 0) << "rank " << rank() << " step " << step_.number << ": of rows of " << step_.row_bytes;
    for (std::size_t token = 0; token < num_tokens_; ++token) {
      const auto owner = [&](std::size_t k) { return expert_of(token, k) / experts_of_a_rank(); };
      const auto copies = owner(0) == owner(1) ? 1 : 2;
      const auto expected = token_batch::bits_of(static_cast<float>(copies * value_of(token)));
      const auto* row = output_.as<std::uint16_t>() + token * hidden_size();
      ASSERT_TRUE(std::all_of(row, row + hidden_size(), [&](std::uint16_t got) { return got == expected; }))
          << "rank " << rank() << " step " << step_.number << " token " << token;
    }
  }

  void run() {
    dispatch();
    combine();
    stream_.synchronize();
    expect_exact();
  }

 private:
  void run_experts(const rows_view& buffer, const dispatch_result& received) {
    const auto rows = received.recv_counts.size() * static_cast<std::size_t>(received.tokens_per_rank);
    for (std::size_t row = 0; row < rows; ++row) {
      std::int32_t first = 0;
      std::memcpy(&first, received.topk_ids.data + row * received.topk_ids.row_bytes, sizeof(first));
      if (first == layer_.params().invalid_expert_id) continue;
      const auto* bytes = received.hidden_states.data + row * received.hidden_states.row_bytes;
      const auto odd = [&](const std::byte* from, std::size_t count) {
        return std::count_if(from, from + count, [&](std::byte b) { return b != bytes[0]; });
      };
      odd_bytes_ += odd(bytes, received.hidden_states.row_bytes);
      if (step_.scale_bytes != 0) {
        odd_bytes_ += odd(received.hidden_states_scale.data + row * step_.scale_bytes, step_.scale_bytes);
      }
      const auto bits = token_batch::bits_of(static_cast<float>(bytes[0]));
      auto* out = reinterpret_cast<std::uint16_t*>(buffer.data + row * buffer.row_bytes);
      std::fill_n(out, hidden_size(), bits);
    }
  }

  [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(layer_.rank()); }
  [[nodiscard]] std::size_t hidden_size() const { return static_cast<std::size_t>(layer_.params().hidden_size); }
  [[nodiscard]] std::int32_t experts_of_a_rank() const {
    return static_cast<std::int32_t>(layer_.params().num_experts) / layer_.ep_size();
  }
  [[nodiscard]] int value_of(std::size_t token) const {
    return static_cast<int>((16 * rank() + token + 3 * step_.number) % 61);
  }
  [[nodiscard]] std::int32_t expert_of(std::size_t token, std::size_t k) const {
    const auto drawn = 7 * rank() + 3 * token + step_.number * (1 + 4 * k) + k;
    return static_cast<std::int32_t>(drawn % static_cast<std::size_t>(layer_.params().num_experts));
  }

  one_sided_all_to_all& layer_;
  host_stream& stream_;
  layer_step step_;
  std::size_t num_tokens_;
  aligned_bytes hidden_;
  aligned_bytes scale_;
  aligned_bytes ids_;
  aligned_bytes output_;
  dispatch_result received_;
  std::ptrdiff_t odd_bytes_ = 0;
};

}  // namespace switchyard::test
