// SPDX-License-Identifier: Apache-2.0
// Reads GPUs through the driver's management library (NVML), which is loaded when it is there and never linked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "switchyard/harness/bench_device_state.hpp"

namespace switchyard::harness {

struct nvml_library;

class device_reader {
 public:
  /// Of the first `devices` GPUs. Never throws for want of the library: readings are then empty, and why_not() says
  /// why.
  explicit device_reader(int devices);
  ~device_reader();
  device_reader(const device_reader&) = delete;
  device_reader& operator=(const device_reader&) = delete;

  /// Everything.
  [[nodiscard]] std::vector<device_state> read() const;
  /// Without what takes long and cannot explain a slow launch: temperature and byte counters are absent.
  [[nodiscard]] std::vector<device_state> read_marks() const;
  struct link_facts {
    std::optional<std::uint32_t> count;
    std::optional<std::uint32_t> mb_s;  ///< of each, one way
  };
  /// Of one GPU's NVLinks.
  [[nodiscard]] link_facts links(int device) const;
  [[nodiscard]] const std::string& driver_version() const noexcept { return driver_version_; }
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

 private:
  std::unique_ptr<nvml_library> nvml_;
  std::vector<void*> handles_;  ///< null: this GPU cannot be read
  std::string driver_version_;
  std::string why_not_;
};

}  // namespace switchyard::harness
