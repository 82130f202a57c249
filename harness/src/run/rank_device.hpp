// SPDX-License-Identifier: Apache-2.0
// The seam between what a rank does and the machine that it does it on: a stream, tasks in its order, and the memory
// that the library sees. On the CPU that memory is the harness's own; a GPU has a twin of every buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>

#include "switchyard/config.hpp"
#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/stream.hpp"

namespace switchyard::harness {

/// The buffers of a rank: its inputs, in the order of all_payloads, then these.
inline constexpr std::size_t output_buffer = all_payloads.size();
inline constexpr std::size_t expert_output_buffer = output_buffer + 1;
inline constexpr std::size_t num_rank_buffers = expert_output_buffer + 1;

/// One rank's. All but the constructor is called by the rank's thread and, on the CPU, by tasks of its stream. Copies
/// have ended when the call returns, and wait for nothing but this rank's own stream.
class rank_device {
 public:
  virtual ~rank_device() = default;

  /// To be called once by the thread that then speaks for the rank.
  virtual void bind_thread() = 0;
  /// Says which fabric and which device.
  virtual void describe(bootstrap& boot) const = 0;
  [[nodiscard]] virtual stream_ref stream() = 0;
  /// Runs `task` when what the stream has been given so far has ended: later, or before it returns.
  virtual void enqueue(std::function<void()> task) = 0;
  virtual void synchronize() = 0;

  /// Where the library finds the data of buffer `which`, whose bytes the harness has in `host`.
  [[nodiscard]] virtual std::byte* address_of(std::size_t which, const fenced_buffer& host) = 0;
  /// Makes the library see `host`, fences and all.
  virtual void upload(std::size_t which, const fenced_buffer& host) = 0;
  /// Of the fences that the library sees.
  [[nodiscard]] virtual std::optional<canary_damage> damage(std::size_t which, const fenced_buffer& host) = 0;

  /// Where the CPU makes bytes that write() then takes to `place`: there itself, or in `spare`.
  [[nodiscard]] virtual std::byte* draft_of(std::byte* place, std::byte* spare) = 0;
  virtual void write(std::byte* place, const std::byte* draft, std::size_t bytes) = 0;
  virtual void read(std::byte* into, const std::byte* place, std::size_t bytes) = 0;
  virtual void fill(std::byte* place, int value, std::size_t bytes) = 0;
  /// What dispatch left behind as the CPU can read it; until the next call.
  [[nodiscard]] virtual dispatch_result readable(const dispatch_result& views) = 0;
};

/// The CPU. Throws what host_stream throws.
std::unique_ptr<rank_device> make_host_device(const case_spec& spec, std::pmr::memory_resource& workspaces);

/// A device with memory of its own, but for how bytes get there.
class separate_device : public rank_device {
 public:
  /// `block` has block_bytes(spec) bytes of the device, 64-byte aligned. Copies of the views come from `memory`.
  separate_device(const case_spec& spec, std::byte* block, std::pmr::memory_resource& memory);

  /// Device memory for the twins of a rank's buffers.
  static std::size_t block_bytes(const case_spec& spec);

  std::byte* address_of(std::size_t which, const fenced_buffer& host) override;
  void upload(std::size_t which, const fenced_buffer& host) override;
  std::optional<canary_damage> damage(std::size_t which, const fenced_buffer& host) override;
  std::byte* draft_of(std::byte* place, std::byte* spare) override;
  dispatch_result readable(const dispatch_result& views) override;
  void enqueue(std::function<void()> task) override;

 private:
  std::byte* block_;
  std::array<std::size_t, num_rank_buffers> offsets_{};
  int ep_size_;
  struct view_copy {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
  };
  std::array<view_copy, all_payloads.size()> views_{};
  std::int32_t* counts_;
};

}  // namespace switchyard::harness
