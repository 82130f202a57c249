// SPDX-License-Identifier: Apache-2.0
// On which CPUs the process of a rank should run: near its GPU, or its share of the host's NUMA nodes.
//
// Where the facts are: /sys/devices/system/node/nodeN/cpulist (Linux, Documentation/ABI/stable/sysfs-devices-node) and
// /sys/bus/pci/devices/ADDRESS/numa_node (Documentation/ABI/testing/sysfs-bus-pci).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::harness {

/// CPUs as Linux numbers them, ascending, each once.
using cpu_numbers = std::vector<int>;

/// Larger than any that Linux can be built for (NR_CPUS: 8192 on x86, 4096 on arm64).
inline constexpr int most_cpu_number = 65535;

/// The kernel's list format: "0-3,8,10-11", in any order; white space round it and an empty list are allowed. Throws
/// input_error naming the text otherwise.
cpu_numbers parse_cpu_list(std::string_view text);

/// The shortest such list; empty for none.
std::string cpu_list_text(const cpu_numbers& cpus);

struct numa_node {
  int id = 0;
  cpu_numbers cpus;
};

/// The nodes that have CPUs, by id. Others are left out, such as those that are a GPU's memory (Grace systems). Empty
/// where the system tells of no nodes. Throws input_error naming the file whose list is none.
std::vector<numa_node> read_numa_nodes(const std::filesystem::path& sysfs = "/sys");

/// The node of a PCI device, or nothing where the system does not say (no such device, -1). `address` is
/// domain:bus:device.function, in either case and with a domain of 4 to 8 digits, as cudaDeviceGetPCIBusId and
/// nvidia-smi write it. Throws input_error for another address, and naming the file whose number is none.
std::optional<int> read_pci_numa_node(std::string_view address, const std::filesystem::path& sysfs = "/sys");

/// What the calling thread may run on, however many CPUs there are. Throws environment_error where the system refuses.
cpu_numbers allowed_cpus();

/// The GPU of a rank.
struct gpu_placement {
  std::optional<int> numa_node;  ///< nothing: not known
};

struct rank_placement {
  int local_rank = 0;  ///< 0 .. local_size - 1
  int local_size = 1;  ///< ranks of this host
  std::optional<gpu_placement> gpu;
};

struct cpu_binding {
  cpu_numbers cpus;              ///< never empty
  std::string cpu_list;          ///< the same as text, for the record
  std::optional<int> numa_node;  ///< whose CPUs they are
  std::string kept_because;      ///< why they are what the process had; empty: they are of numa_node

  /// Binds the calling thread and so all that it starts from then on: to be called before the process starts others.
  /// Does nothing where the CPUs are kept. Throws environment_error where the system refuses.
  void apply() const;
};

/// A rank with a GPU gets those CPUs of the GPU's node that it may use. Ranks without get a node each, in blocks: of
/// the nodes that have CPUs that the process may use, number local_rank * nodes / local_size. `allowed` is what the
/// process may use, and is kept, with the reason, where the GPU's node is not known or has none of them, or where there
/// are no nodes. `nodes` as read_numa_nodes gives them. Throws invalid_argument for an empty `allowed` and for a
/// local_rank that is not below local_size.
cpu_binding plan_cpu_binding(const std::vector<numa_node>& nodes, const cpu_numbers& allowed,
                             const rank_placement& placement);

/// The same for this process on this host. `gpu_address` is the PCI address of its GPU; nothing: it has none. Throws
/// what those above throw.
cpu_binding find_cpu_binding(int local_rank, int local_size, const std::optional<std::string>& gpu_address,
                             const std::filesystem::path& sysfs = "/sys");

}  // namespace switchyard::harness
