// SPDX-License-Identifier: Apache-2.0
#include "bench_machine.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>

#include "bench_kernels.hpp"

namespace switchyard::harness {
namespace {

std::optional<int> numa_node_of(int device) {
  std::array<char, 32> bus_id{};
  check_cuda(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), device), "place of a device");
  std::string id = bus_id.data();
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file("/sys/bus/pci/devices/" + id + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;  // -1: the firmware names none
  return node;
}

/// The value of a line "name:\tvalue" of the kernel's description of this process.
std::string own_status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const auto begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

/// As the driver's tools write it.
std::string uuid_text(const cudaUUID_t& uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 0xFU];
  }
  return text;
}

/// "13.0" of 13000.
std::string version_text(int number) {
  return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10);
}

}  // namespace

bench_machine describe_machine(int ranks, const device_reader& reader) {
  int driver = 0;
  int runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "version of the driver");
  check_cuda(cudaRuntimeGetVersion(&runtime), "version of the runtime");
  bench_machine result;
  for (int device = 0; device < ranks; ++device) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, device), "properties of a device");
    result.gpus.push_back({std::string(properties.name) + ", " + std::to_string(properties.multiProcessorCount) +
                               " multiprocessors, driver for CUDA " + std::to_string(driver) + ", runtime " +
                               std::to_string(runtime),
                           numa_node_of(device), properties.name, uuid_text(properties.uuid)});
    const auto links = reader.links(device);
    result.gpus.back().links = links.count;
    result.gpus.back().link_mb_s = links.mb_s;
  }
  result.cuda_runtime = version_text(runtime);
  result.cuda_driver = version_text(driver);
  result.driver_version = reader.driver_version();
  result.nvml_why_not = reader.why_not();
  result.cpus_allowed = own_status("Cpus_allowed_list");
  result.memory_allowed = own_status("Mems_allowed_list");
  return result;
}

}  // namespace switchyard::harness
