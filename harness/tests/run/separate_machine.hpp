// SPDX-License-Identifier: Apache-2.0
// The host fabric behind the seam that GPUs are behind: ranks whose buffers lie in memory of their own.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rank_device.hpp"
#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {

/// May change what is on its way: a byte that a copy lost, or a store of the device beside its place.
using copy_error = std::function<void(int rank, std::byte* to, std::size_t bytes)>;

/// What the device says of the rows that a rank received, for tests of what is made of it.
using row_checker = std::function<rank_device::row_checks(int rank)>;

class separate_memory {
 public:
  explicit separate_memory(const case_spec& spec) : bytes_(separate_device::block_bytes(spec) + 64) {
    auto place = reinterpret_cast<std::uintptr_t>(bytes_.data());
    block_ = bytes_.data() + (64 - place % 64) % 64;
  }
  [[nodiscard]] std::byte* block() const { return block_; }

 private:
  std::vector<std::byte> bytes_;
  std::byte* block_;
};

class separate_host_device : private separate_memory, public separate_device {
 public:
  separate_host_device(const case_spec& spec, int rank, std::pmr::memory_resource& memory, copy_error on_write,
                       row_checker checker)
      : separate_memory(spec),
        separate_device(spec, separate_memory::block(), memory),
        rank_(rank),
        workspaces_(memory),
        on_write_(std::move(on_write)),
        checker_(std::move(checker)) {}

  void bind_thread() override {}
  void describe(bootstrap& boot) const override { boot.host_memory = &workspaces_; }
  stream_ref stream() override { return stream_; }
  void synchronize() override { stream_.synchronize(); }
  void write(std::byte* place, const std::byte* draft, std::size_t bytes) override {
    if (bytes == 0) return;
    std::memcpy(place, draft, bytes);
    if (on_write_) on_write_(rank_, place, bytes);
  }
  void read(std::byte* into, const std::byte* place, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(into, place, bytes);
  }
  void fill(std::byte* place, int value, std::size_t bytes) override { std::memset(place, value, bytes); }
  row_checks check_rows(const step_inputs&, std::uint64_t, int rank, const dispatch_result&) override {
    return checker_ ? checker_(rank) : row_checks{};
  }

 private:
  int rank_;
  std::pmr::memory_resource& workspaces_;
  copy_error on_write_;
  row_checker checker_;
  host_stream stream_;
};

class separate_machine final : public machine {
 public:
  explicit separate_machine(int most_ranks = max_ep_size, copy_error on_write = {}, row_checker checker = {})
      : most_ranks_(most_ranks), on_write_(std::move(on_write)), checker_(std::move(checker)) {}

  [[nodiscard]] std::optional<std::string> reason_to_skip(const case_spec& spec) const override {
    if (spec.ep_size <= most_ranks_) return std::nullopt;
    return "too many ranks";
  }
  void require_memory(const case_spec&) const override {}
  std::vector<std::unique_ptr<rank_device>> open(const case_spec& spec, std::pmr::memory_resource& memory) override {
    std::vector<std::unique_ptr<rank_device>> devices;
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      devices.push_back(std::make_unique<separate_host_device>(spec, rank, memory, on_write_, checker_));
    }
    return devices;
  }
  void abandon() override {}

 private:
  int most_ranks_;
  copy_error on_write_;
  row_checker checker_;
};

/// Workspaces are in the arena here, and copies of the views as well.
inline case_result run_separately(const case_spec& spec, std::shared_ptr<machine> on) {
  arena memory(2 * required_bytes(spec));
  run_options options;
  options.machine = std::move(on);
  return run_case(spec, memory, options);
}

}  // namespace switchyard::harness
