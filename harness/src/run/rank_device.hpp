// SPDX-License-Identifier: Apache-2.0
// The seam between what a rank does and the machine that it does it on: a stream, tasks in its order, and the memory
// that the library sees. On the CPU that memory is the harness's own; a GPU has a twin of every buffer.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>

#include "device_read.hpp"
#include "switchyard/config.hpp"
#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/stream.hpp"

namespace switchyard::harness {

/// The buffers of a rank: its inputs, in the order of all_payloads, then these.
inline constexpr std::size_t output_buffer = all_payloads.size();
inline constexpr std::size_t expert_output_buffer = output_buffer + 1;
inline constexpr std::size_t statistics_buffer = expert_output_buffer + 1;
inline constexpr std::size_t num_rank_buffers = statistics_buffer + 1;

/// What stands between the phases of a step that is replayed.
struct between_phases {
  comm_params params;                ///< of the step's rows
  dispatch_result views;             ///< where dispatch leaves its rows
  std::byte* expert_rows = nullptr;  ///< where combine expects its own: [ep_size * T, combine_hidden_size]
  std::int64_t combine_hidden_size = 0;
};

/// A device on which a step runs from its inputs to its sums without the CPU, so that it can be captured and replayed.
/// For the rank's thread.
class replaying_device {
 public:
  virtual ~replaying_device() = default;

  /// Captures what `launches` enqueues on the rank's stream. Takes memory and may wait for the device, so that it is to
  /// be called before any peer waits; replay() does neither.
  virtual std::size_t capture(const std::function<void()>& launches) = 0;
  /// Enqueues, in this order: a copy of the views as they are, the simulated experts on them, poison over the views,
  /// and a pause. A row that holds no token gets the poison of expert rows.
  virtual void enqueue(const between_phases& between) = 0;
  /// For what replay() launches from now on: the poison of the views, and how long the pause is.
  virtual void set_step(std::byte poison, std::chrono::nanoseconds pause) = 0;
  virtual void replay(std::size_t graph) = 0;
  /// The copy of `views` that the last replay made, where the device has it.
  [[nodiscard]] virtual dispatch_result kept(const dispatch_result& views) const = 0;
};

/// Device memory of the checker of rows: what it finds, then whose row stands where.
inline constexpr std::size_t row_check_found_bytes = 128;
std::size_t row_check_bytes(const case_spec& spec);

/// Device memory that replaying a case takes beside the twins of a rank's buffers; 0 where nothing is replayed.
std::size_t replay_bytes(const case_spec& spec);

/// One rank's. All but the constructor is called by the rank's thread and, on the CPU, by tasks of its stream. What
/// write(), fill() and upload() bring is there for whatever the stream is given next, and their sources may change at
/// once; read() has ended when it returns. All wait for nothing but this rank's own stream.
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
  /// Of the fences that the library sees, buffer by buffer.
  using all_buffers = std::array<const fenced_buffer*, num_rank_buffers>;
  using all_damage = std::array<std::optional<canary_damage>, num_rank_buffers>;
  [[nodiscard]] virtual all_damage damage(const all_buffers& hosts) = 0;

  /// Where the CPU makes bytes that write() then takes to `place`: there itself, or in `spare`.
  [[nodiscard]] virtual std::byte* draft_of(std::byte* place, std::byte* spare) = 0;
  virtual void write(std::byte* place, const std::byte* draft, std::size_t bytes) = 0;
  virtual void read(std::byte* into, const std::byte* place, std::size_t bytes) = 0;
  /// The same for many: where each waits for the stream, together they wait once.
  virtual void read_all(std::span<const device_read> reads) {
    for (const auto& each : reads) read(each.into, each.place, each.bytes);
  }
  virtual void fill(std::byte* place, int value, std::size_t bytes) = 0;
  /// Whether there is memory at a place of the workspace that has been written.
  [[nodiscard]] virtual bool has_memory(const std::byte* place) const;
  /// Bytes that the device has left for whoever asks, once nothing runs on it; nothing where has_memory() tells all.
  [[nodiscard]] virtual std::optional<std::size_t> free_memory() const { return std::nullopt; }
  /// What dispatch left behind as the CPU can read it; until the next call.
  [[nodiscard]] virtual dispatch_result readable(const dispatch_result& views) = 0;

  /// What the device itself finds in the rows of `views`, where it has them, payload by payload; nothing for a payload,
  /// or on a device, without a checker of its own. It knows the laws of generated rows and whose row stands where.
  using row_checks = std::array<std::optional<row_verdict>, all_payloads.size()>;
  [[nodiscard]] virtual row_checks check_rows(const step_inputs&, std::uint64_t /*seed*/, int /*rank*/,
                                              const dispatch_result& /*views*/) {
    return {};
  }

  /// Null where steps cannot be replayed; else at least what machine::replays() has promised.
  [[nodiscard]] virtual replaying_device* replaying() { return nullptr; }
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
  all_damage damage(const all_buffers& hosts) override;
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
  std::int32_t* counts_;  ///< and behind them the dropped routes, then the gathered statistics
  std::size_t num_statistics_;
};

}  // namespace switchyard::harness
