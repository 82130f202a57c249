// SPDX-License-Identifier: Apache-2.0
// A small EP group on the host fabric for tests: one thread, one stream and one instance per rank.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "switchyard/switchyard.hpp"

namespace switchyard::test {

/// Runs body(rank) on one thread per rank and rethrows the first exception, by rank, after all have ended.
inline void on_every_rank(int ep_size, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ep_size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ep_size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& e : thrown) {
    if (e) std::rethrow_exception(e);
  }
}

struct group_options {
  comm_params params;
  one_sided_config config;
  int ep_size = 2;
  int workers = 1;
  std::uint32_t first_epoch = 1;
  std::pmr::memory_resource* host_memory = nullptr;
  std::function<std::shared_ptr<fabric>(int)> make_fabric;
};

/// Bytes that are aligned as inputs and outputs must be.
class aligned_bytes {
 public:
  explicit aligned_bytes(std::size_t bytes, unsigned char fill = 0) : storage_((bytes + 15) / 16 + 1) {
    std::fill_n(reinterpret_cast<unsigned char*>(storage_.data()), storage_.size() * 16, fill);
  }
  template <class T>
  [[nodiscard]] T* as() {
    return reinterpret_cast<T*>(storage_.data());
  }

 private:
  struct alignas(16) unit {
    unsigned char bytes[16];
  };
  std::vector<unit> storage_;
};

class host_group {
 public:
  explicit host_group(const group_options& options) : options_(options) {
    const auto backends = make_in_process_backends(options.ep_size);
    const auto size = static_cast<std::size_t>(options.ep_size);
    streams_.resize(size);
    instances_.resize(size);
    on_every_rank(options.ep_size, [&](int rank) {
      bootstrap boot;
      boot.rank = rank;
      boot.ep_size = options.ep_size;
      boot.comm_backend = backends[static_cast<std::size_t>(rank)];
      boot.first_epoch = options.first_epoch;
      boot.host_memory = options.host_memory;
      if (options.make_fabric) boot.custom_fabric = options.make_fabric(rank);
      at(streams_, rank) = std::make_unique<host_stream>(options.workers);
      at(instances_, rank) = std::make_unique<one_sided_all_to_all>(boot, options.params, options.config);
    });
  }
  host_group(const host_group&) = delete;
  host_group& operator=(const host_group&) = delete;

  [[nodiscard]] int ep_size() const { return options_.ep_size; }
  [[nodiscard]] one_sided_all_to_all& instance(int rank) { return *at(instances_, rank); }
  [[nodiscard]] host_stream& stream(int rank) { return *at(streams_, rank); }
  void destroy(int rank) { at(instances_, rank)->destroy(); }

 private:
  template <class T>
  static T& at(std::vector<T>& all, int rank) {
    return all[static_cast<std::size_t>(rank)];
  }

  group_options options_;
  // Streams outlive instances: a queued launch may still be waiting for peers.
  std::vector<std::unique_ptr<host_stream>> streams_;
  std::vector<std::unique_ptr<one_sided_all_to_all>> instances_;
};

/// One rank's tokens with bf16 rows: element h of token t is a small integer that names rank, token and element.
class token_batch {
 public:
  token_batch(int rank, const comm_params& params, std::vector<std::vector<std::int32_t>> ids)
      : params_(params),
        num_tokens_(ids.size()),
        hidden_(num_tokens_ * hidden_size() * 2),
        ids_(num_tokens_ * top_k() * 4),
        output_(num_tokens_ * hidden_size() * 2, 0xCD) {
    for (std::size_t t = 0; t < num_tokens_; ++t) {
      for (std::size_t h = 0; h < hidden_size(); ++h) {
        hidden_.as<std::uint16_t>()[t * hidden_size() + h] = value(rank, static_cast<int>(t), static_cast<int>(h));
      }
      for (std::size_t k = 0; k < top_k(); ++k) ids_.as<std::int32_t>()[t * top_k() + k] = ids[t].at(k);
    }
  }

  /// bf16 bits of the integer (16 * rank + token) mod 64 + element mod 2: exact, and so are sums of up to four.
  static std::uint16_t value(int rank, int token, int element) {
    return bits_of(static_cast<float>((16 * rank + token) % 64 + element % 2));
  }
  /// Upper half of the fp32 pattern: exact for integers below 256.
  static std::uint16_t bits_of(float exact) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(exact) >> 16);
  }

  [[nodiscard]] dispatch_inputs inputs() {
    dispatch_inputs in;
    in.num_tokens = static_cast<std::int64_t>(num_tokens_);
    in.hidden_states = {num_tokens_ == 0 ? nullptr : hidden_.as<void>(), hidden_size() * 2, true};
    in.topk_ids = {num_tokens_ == 0 ? nullptr : ids_.as<void>(), top_k() * 4, true};
    return in;
  }
  [[nodiscard]] combine_output output() { return {output_.as<void>(), static_cast<std::int64_t>(num_tokens_)}; }
  [[nodiscard]] const std::uint16_t* output_row(std::size_t token) {
    return output_.as<std::uint16_t>() + token * hidden_size();
  }
  [[nodiscard]] std::size_t num_tokens() const { return num_tokens_; }

 private:
  [[nodiscard]] std::size_t hidden_size() const { return static_cast<std::size_t>(params_.hidden_size); }
  [[nodiscard]] std::size_t top_k() const { return static_cast<std::size_t>(params_.top_k); }

  comm_params params_;
  std::size_t num_tokens_;
  aligned_bytes hidden_;
  aligned_bytes ids_;
  aligned_bytes output_;
};

/// Queues experts that return their input, on the rows that hold tokens, and returns combine's zero-copy input.
inline combine_inputs identity_experts(one_sided_all_to_all& instance, const dispatch_result& received,
                                       host_stream& stream) {
  const auto buffer = instance.combine_input_buffer(dtype::bf16);
  stream.enqueue([=, invalid = instance.params().invalid_expert_id] {
    const auto rows = received.recv_counts.size() * static_cast<std::size_t>(received.tokens_per_rank);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto* ids =
          reinterpret_cast<const std::int32_t*>(received.topk_ids.data + row * received.topk_ids.row_bytes);
      const auto* last = ids + received.topk_ids.row_bytes / sizeof(*ids);
      if (std::all_of(ids, last, [&](std::int32_t id) { return id == invalid; })) continue;
      std::memcpy(buffer.data + row * buffer.row_bytes, received.hidden_states.data + row * buffer.row_bytes,
                  buffer.row_bytes);
    }
  });
  return {buffer.data, instance.params().hidden_size, dtype::bf16};
}

struct enqueued_step {
  dispatch_result received;
  bool combined = false;  ///< false: a fault was there before combine was called, which is refused then
};

/// One step of one rank with identity experts, without waiting for any of it.
inline enqueued_step enqueue_step(host_group& group, int rank, token_batch& batch) {
  auto& instance = group.instance(rank);
  auto& stream = group.stream(rank);
  enqueued_step step{instance.dispatch(batch.inputs(), {}, stream)};
  try {
    instance.combine(identity_experts(instance, step.received, stream), batch.output(), stream);
    step.combined = true;
  } catch (const peer_fault&) {  // the dispatch has failed already
  }
  return step;
}

}  // namespace switchyard::test
