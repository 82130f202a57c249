// SPDX-License-Identifier: Apache-2.0
// Ranks dealt over GPUs.
#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "../rank_device.hpp"
#include "gpu_lane.hpp"
#include "gpu_replay.hpp"
#include "gpu_row_check.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/one_sided_all_to_all.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

// What a GPU has for everything but the ranks' buffers: kernels, stacks, streams of ranks.
constexpr std::size_t kept_free_bytes = std::size_t{1} << 30;

class gpu_device final : public separate_device {
 public:
  gpu_device(const case_spec& spec, int rank, std::shared_ptr<gpu_lane> lane, std::pmr::memory_resource& memory)
      : separate_device(spec, lane->block(), memory),
        lane_(std::move(lane)),
        rows_(spec, *lane_, lane_->block() + block_bytes(spec)) {
    if (spec.launch == launch_mode::eager) return;
    replay_.emplace(spec, rank, *lane_, lane_->block() + block_bytes(spec) + row_check_bytes(spec));
  }

  void bind_thread() override { check_cuda(cudaSetDevice(lane_->device()), "making a rank's device current"); }
  void describe(bootstrap& boot) const override {
    boot.kind = fabric_kind::cuda;
    boot.device = lane_->device();
  }
  stream_ref stream() override { return lane_->stream(); }
  void synchronize() override { lane_->synchronize(); }
  void write(std::byte* place, const std::byte* draft, std::size_t bytes) override {
    lane_->write(place, draft, bytes);
  }
  void read(std::byte* into, const std::byte* place, std::size_t bytes) override {
    const device_read one{into, place, bytes};
    lane_->read({&one, 1});
  }
  void read_all(std::span<const device_read> reads) override { lane_->read(reads); }
  void fill(std::byte* place, int value, std::size_t bytes) override { lane_->fill(place, value, bytes); }
  [[nodiscard]] bool has_memory(const std::byte* place) const override {
    cudaPointerAttributes found{};
    check_cuda(cudaPointerGetAttributes(&found, place), "asking what lies at a place");
    return found.type == cudaMemoryTypeDevice;
  }
  [[nodiscard]] std::optional<std::size_t> free_memory() const override {
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "free memory of a GPU");
    return free;
  }
  row_checks check_rows(const step_inputs& inputs, std::uint64_t seed, int rank,
                        const dispatch_result& views) override {
    return rows_.check(inputs, seed, rank, views);
  }
  replaying_device* replaying() override { return replay_ ? &*replay_ : nullptr; }

 private:
  std::shared_ptr<gpu_lane> lane_;
  gpu_row_check rows_;
  std::optional<gpu_replay> replay_;
};

class gpu_machine final : public machine {
 public:
  gpu_machine(int num_gpus, const machine_ranks& placement) : num_gpus_(num_gpus), placement_(placement) {}

  [[nodiscard]] std::optional<std::string> reason_to_skip(const case_spec& spec) const override {
    const int ranks = ranks_on(0, spec.ep_size);
    if (spec.inject) {
      const auto kind = spec.inject->kind;
      if (kind == fault_kind::corrupt || kind == fault_kind::misdirect) {
        return "inject.kind " + std::string(to_string(kind)) + ": headers are changed on the host fabric only";
      }
      // To free memory waits for all that runs on the device, and its peers wait for the rank.
      if (kind == fault_kind::exit && ranks > 1) return "inject.kind exit: needs a GPU for each rank";
    }
    if (ranks <= most_ranks_on_gpu) return std::nullopt;
    return std::to_string(spec.ep_size) + " ranks on " + std::to_string(num_gpus_) + " GPU(s) are " +
           std::to_string(ranks) + " on one; at most " + std::to_string(most_ranks_on_gpu) +
           " can wait for one another there";
  }

  [[nodiscard]] bool replays() const override { return true; }

  [[nodiscard]] bool one_clock(int rank, int other) const override {
    return host_of(rank) == host_of(other) && device_of(rank) == device_of(other);
  }

  void require_memory(const case_spec& spec) const override {
    for (int device = 0; device < num_gpus_; ++device) {
      const auto needed = ranks_here(device, spec.ep_size) * required_device_bytes(spec);
      // What lanes hold for their next case counts as free: open() gives it back when need be.
      const auto free = free_bytes(device) + held_bytes(device);
      const auto usable = free - std::min(free, kept_free_bytes);
      if (needed <= usable) continue;
      throw out_of_memory("case " + spec.id + " needs " + std::to_string(needed) + " bytes of memory of GPU " +
                          std::to_string(device) + "; " + std::to_string(usable) + " can be had");
    }
  }

  std::vector<std::unique_ptr<rank_device>> open(const case_spec& spec, std::pmr::memory_resource& memory) override {
    require_memory(spec);
    make_room(spec);
    const auto ranks = static_cast<std::size_t>(spec.ep_size);
    std::vector<std::unique_ptr<rank_device>> devices(ranks);
    if (lanes_.size() < ranks) lanes_.resize(ranks);
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      if (!is_here(rank)) continue;
      const auto index = static_cast<std::size_t>(rank);
      if (lanes_[index] == nullptr) lanes_[index] = std::make_shared<gpu_lane>(device_of(rank));
      lanes_[index]->reserve(separate_device::block_bytes(spec) + row_check_bytes(spec) + replay_bytes(spec));
      devices[index] = std::make_unique<gpu_device>(spec, rank, lanes_[index], memory);
    }
    return devices;
  }

  std::optional<std::string> lost() override {
    for (int device = 0; device < num_gpus_ && !lost_; ++device) {
      (void)cudaGetLastError();  // one that goes away by this was of a call, not of the device
      const auto answer = answer_of(device);
      if (answer == cudaSuccess || answer == cudaErrorNotReady) continue;
      lost_ =
          "GPU " + std::to_string(device) + " is lost: " + cudaGetErrorName(answer) + ", " + cudaGetErrorString(answer);
    }
    return lost_;
  }

  // Never freed: that would wait for what cannot be stopped.
  void abandon() override {
    static auto* const left_behind = new std::vector<std::shared_ptr<gpu_lane>>;
    left_behind->insert(left_behind->end(), lanes_.begin(), lanes_.end());
    lanes_.clear();
  }

 private:
  [[nodiscard]] int host_of(int rank) const {
    return placement_.ranks_per_host == 0 ? 0 : rank / placement_.ranks_per_host;
  }
  [[nodiscard]] int device_of(int rank) const {
    return (placement_.ranks_per_host == 0 ? rank : rank % placement_.ranks_per_host) % num_gpus_;
  }
  [[nodiscard]] bool is_here(int rank) const { return !placement_.only_rank || *placement_.only_rank == rank; }
  /// Of one host, whichever process they are of.
  [[nodiscard]] int ranks_on(int device, int ep_size) const {
    const int of_host = placement_.ranks_per_host == 0 ? ep_size : std::min(ep_size, placement_.ranks_per_host);
    return (of_host - device + num_gpus_ - 1) / num_gpus_;
  }
  [[nodiscard]] std::size_t ranks_here(int device, int ep_size) const {
    if (!placement_.only_rank) return static_cast<std::size_t>(ranks_on(device, ep_size));
    return *placement_.only_rank < ep_size && device_of(*placement_.only_rank) == device ? 1 : 0;
  }

  /// Whatever a device's context has failed by, every later call shows it.
  [[nodiscard]] cudaError_t answer_of(int device) const {
    int before = 0;
    if (const auto failed = cudaGetDevice(&before); failed != cudaSuccess) return failed;
    auto answer = cudaSetDevice(device);
    for (const auto& lane : lanes_) {
      if (answer == cudaSuccess && lane != nullptr && lane->device() == device)
        answer = cudaStreamQuery(lane->stream());
    }
    std::size_t free = 0;
    std::size_t total = 0;
    if (answer == cudaSuccess) answer = cudaMemGetInfo(&free, &total);
    (void)cudaSetDevice(before);
    return answer;
  }

  static std::size_t free_bytes(int device) {
    const current_device current(device);
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "free memory of a GPU");
    return free;
  }

  [[nodiscard]] std::size_t held_bytes(int device) const {
    std::size_t bytes = 0;
    for (const auto& lane : lanes_) {
      if (lane != nullptr && lane->device() == device) bytes += lane->block_bytes();
    }
    return bytes;
  }

  void make_room(const case_spec& spec) {
    for (int device = 0; device < num_gpus_; ++device) {
      if (ranks_here(device, spec.ep_size) * required_device_bytes(spec) + kept_free_bytes <= free_bytes(device))
        continue;
      for (const auto& lane : lanes_) {
        if (lane != nullptr && lane->device() == device) lane->release();
      }
    }
  }

  int num_gpus_;
  machine_ranks placement_;
  std::vector<std::shared_ptr<gpu_lane>> lanes_;  // by rank; null where it is not of this machine or has not run yet
  std::optional<std::string> lost_;
};

/// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05 ...": the first word that is a number with dots.
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) return "unknown";
  return "for CUDA " + std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

}  // namespace

gpu_list find_gpus() {
  int found = 0;
  const auto result = cudaGetDeviceCount(&found);
  if (result != cudaSuccess) {
    (void)cudaGetLastError();
    // Also said where there is no driver at all.
    const bool no_driver = result == cudaErrorInsufficientDriver;
    throw environment_error(std::string("fabric cuda: no GPU can be used: ") +
                            (no_driver ? "no driver for CUDA 13.0 or newer" : cudaGetErrorString(result)));
  }
  gpu_list list;
  for (int device = 0; device < found; ++device) {
    const auto usable = one_sided_all_to_all::platform_support(fabric_kind::cuda, device);
    if (!usable.available) throw environment_error("fabric cuda: " + usable.reason);
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, device), "properties of a GPU");
    list.names.emplace_back(static_cast<const char*>(properties.name));
  }
  list.driver = driver_version();
  return list;
}

int count_gpus() noexcept {
  int found = 0;
  if (cudaGetDeviceCount(&found) == cudaSuccess) return found;
  (void)cudaGetLastError();
  return 0;
}

std::optional<std::string> pci_address_of_gpu(int local_rank, int num_gpus) {
  const int found = count_gpus();
  if (found == 0) return std::nullopt;
  const int device = local_rank % (num_gpus == 0 ? found : std::min(num_gpus, found));
  std::array<char, 32> address{};
  if (cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device) == cudaSuccess) {
    return address.data();
  }
  (void)cudaGetLastError();
  return std::nullopt;
}

std::shared_ptr<machine> open_gpus(int num_gpus, const machine_ranks& placement) {
  int found = 0;
  if (cudaGetDeviceCount(&found) != cudaSuccess) found = 0;
  if (num_gpus < 1 || num_gpus > found) {
    throw environment_error("fabric cuda: " + std::to_string(num_gpus) + " GPU(s) were asked for, " +
                            std::to_string(found) + " can be used here");
  }
  for (int from = 0; from < num_gpus; ++from) {
    for (int to = 0; to < num_gpus; ++to) {
      int reachable = 0;
      if (from != to) check_cuda(cudaDeviceCanAccessPeer(&reachable, from, to), "whether a GPU can reach another");
      if (from == to || reachable != 0) continue;
      throw environment_error("fabric cuda: GPU " + std::to_string(from) + " cannot reach the memory of GPU " +
                              std::to_string(to));
    }
  }
  return std::make_shared<gpu_machine>(num_gpus, placement);
}

}  // namespace switchyard::harness
