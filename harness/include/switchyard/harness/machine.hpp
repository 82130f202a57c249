// SPDX-License-Identifier: Apache-2.0
// What runs the ranks of a case when it is not the CPU: GPUs, or what a test puts in their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

class rank_device;  // the seam between a rank and its machine; see harness/src/run/rank_device.hpp

/// Something that the run needs is not here; the program says so and ends with exit code 3.
class environment_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One for a whole run: what it takes for a case it keeps for the next. Not thread-safe.
class machine {
 public:
  virtual ~machine() = default;

  /// Why `spec` cannot be run here though a larger machine could; its status is then `skipped`. Nothing: it can.
  [[nodiscard]] virtual std::optional<std::string> reason_to_skip(const case_spec& spec) const = 0;

  /// Whether cases can run whose launch is not eager.
  [[nodiscard]] virtual bool replays() const { return false; }

  /// Whether moments that two ranks tell can be compared.
  [[nodiscard]] virtual bool one_clock(int /*rank*/, int /*other*/) const { return true; }

  /// Throws out_of_memory naming the case, the device, the bytes needed and the bytes that there are. Takes nothing.
  virtual void require_memory(const case_spec& spec) const = 0;

  /// Devices for the ranks of a case, by rank; null for those that this machine does not run. They refer to `spec` and
  /// to this machine. `memory` is the CPU's, for what is copied back to be checked. To be called when nothing of an
  /// earlier case runs: it may wait for devices. Throws out_of_memory before anything is taken when require_memory()
  /// would, cuda_error.
  virtual std::vector<std::unique_ptr<rank_device>> open(const case_spec& spec, std::pmr::memory_resource& memory) = 0;

  /// Which device takes no more work and what it answers, for as long as the process lives; nothing: all answer. An
  /// error that a later call does not show any more is no loss. Waits for nothing.
  [[nodiscard]] virtual std::optional<std::string> lost() { return std::nullopt; }

  /// A rank of the last case could not be stopped: it keeps what it has, and the next case gets anew.
  virtual void abandon() = 0;
};

/// Device memory that one rank of `spec` takes on a GPU: its workspace, inputs, output and expert outputs.
std::size_t required_device_bytes(const case_spec& spec);

/// Most ranks that may share a GPU. A rank's kernel that waits for a peer holds its stream's hardware queue, and there
/// are 32 (CUDA_DEVICE_MAX_CONNECTIONS at its largest); a rank has its stream and the library's own.
inline constexpr int most_ranks_on_gpu = 16;

struct gpu_list {
  std::vector<std::string> names;  ///< by ordinal
  std::string driver;              ///< version, as the system has it
};

/// The GPUs that the CUDA fabric can use. Throws environment_error when there is no driver, no GPU or one that cannot
/// be used, or when this build has no CUDA fabric.
gpu_list find_gpus();

/// How many GPUs there are; 0 without a driver, too. Makes no context.
int count_gpus() noexcept;

/// Where the GPU of a rank is on the PCI bus, of the first `num_gpus` that there are, 0: of all; nothing where there is
/// none. Makes no context, and starts no threads.
std::optional<std::string> pci_address_of_gpu(int local_rank, int num_gpus);

/// Which ranks a machine of GPUs is to run.
struct machine_ranks {
  /// Ranks 0 .. ranks_per_host - 1 are on the first host, the same number on the next, and are dealt in turn over the
  /// GPUs of each; 0: all on one.
  int ranks_per_host = 0;
  /// Of ranks that are processes: this one alone, on the GPU that it has in the whole; nothing: all.
  std::optional<int> only_rank = {};
};

/// A machine of the first `num_gpus` GPUs of this host, to which ranks are dealt in turn. The caller has set
/// CUDA_DEVICE_MAX_CONNECTIONS to 32 before CUDA's first use in the process. Throws environment_error when there are
/// fewer, or when one cannot reach another's memory.
std::shared_ptr<machine> open_gpus(int num_gpus, const machine_ranks& placement = {});

}  // namespace switchyard::harness
