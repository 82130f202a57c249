// SPDX-License-Identifier: Apache-2.0
// Chooses the CPUs of a rank's process, and binds it to them.
#include "switchyard/harness/cpu_binding.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "switchyard/harness/machine.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

/// A set of any size: cpu_set_t ends at 1024 CPUs.
class kernel_cpu_set {
 public:
  explicit kernel_cpu_set(int num_cpus) : set_(CPU_ALLOC(static_cast<std::size_t>(num_cpus))) {
    if (set_ == nullptr) throw std::bad_alloc();
    bytes_ = CPU_ALLOC_SIZE(static_cast<std::size_t>(num_cpus));
    CPU_ZERO_S(bytes_, set_.get());
  }

  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes_, set_.get()); }
  [[nodiscard]] bool has(int cpu) const { return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes_, set_.get()) != 0; }
  [[nodiscard]] cpu_set_t* data() { return set_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct free_set {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  std::unique_ptr<cpu_set_t, free_set> set_;
  std::size_t bytes_ = 0;
};

cpu_numbers common_cpus(const cpu_numbers& left, const cpu_numbers& right) {
  cpu_numbers both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both;
}

cpu_binding bound_to(int node, cpu_numbers cpus) {
  cpu_binding binding;
  binding.cpu_list = cpu_list_text(cpus);
  binding.cpus = std::move(cpus);
  binding.numa_node = node;
  return binding;
}

cpu_binding kept(const cpu_numbers& allowed, std::string reason) {
  cpu_binding binding;
  binding.cpu_list = cpu_list_text(allowed);
  binding.cpus = allowed;
  binding.kept_because = std::move(reason);
  return binding;
}

cpu_binding plan_near_gpu(const std::vector<numa_node>& usable, const cpu_numbers& allowed, const gpu_placement& gpu) {
  if (!gpu.numa_node) return kept(allowed, "the system does not say which NUMA node the GPU is on");
  const auto found =
      std::find_if(usable.begin(), usable.end(), [&](const numa_node& node) { return node.id == *gpu.numa_node; });
  if (found == usable.end()) {
    return kept(allowed,
                "the GPU's NUMA node " + std::to_string(*gpu.numa_node) + " has no CPU that this process may use");
  }
  return bound_to(found->id, found->cpus);
}

}  // namespace

void cpu_binding::apply() const {
  if (!kept_because.empty()) return;
  kernel_cpu_set set(cpus.back() + 1);
  for (const int cpu : cpus) set.add(cpu);
  if (::sched_setaffinity(0, set.bytes(), set.data()) != 0) {
    throw environment_error("cannot run on CPUs " + cpu_list + ": " + std::generic_category().message(errno));
  }
}

cpu_numbers allowed_cpus() {
  // The system refuses a set that is too small for its own (EINVAL of sched_getaffinity(2)) and does not tell its size.
  int failure = EINVAL;
  for (int num_cpus = CPU_SETSIZE; num_cpus <= most_cpu_number + 1 && failure == EINVAL; num_cpus *= 2) {
    kernel_cpu_set set(num_cpus);
    if (::sched_getaffinity(0, set.bytes(), set.data()) == 0) {
      cpu_numbers cpus;
      for (int cpu = 0; cpu < num_cpus; ++cpu) {
        if (set.has(cpu)) cpus.push_back(cpu);
      }
      return cpus;
    }
    failure = errno;
  }
  throw environment_error("cannot find out which CPUs may be used: " + std::generic_category().message(failure));
}

cpu_binding plan_cpu_binding(const std::vector<numa_node>& nodes, const cpu_numbers& allowed,
                             const rank_placement& placement) {
  if (allowed.empty()) throw invalid_argument("allowed: must have a CPU");
  if (placement.local_rank < 0 || placement.local_rank >= placement.local_size) {
    throw invalid_argument("local_rank: " + std::to_string(placement.local_rank) + ": must be from 0 to below " +
                           std::to_string(placement.local_size));
  }
  std::vector<numa_node> usable;
  for (const auto& node : nodes) {
    auto cpus = common_cpus(node.cpus, allowed);
    if (!cpus.empty()) usable.push_back({node.id, std::move(cpus)});
  }
  if (placement.gpu) return plan_near_gpu(usable, allowed, *placement.gpu);
  if (usable.empty()) return kept(allowed, "the system tells of no NUMA node with a CPU that this process may use");
  const auto share =
      static_cast<std::size_t>(placement.local_rank) * usable.size() / static_cast<std::size_t>(placement.local_size);
  return bound_to(usable[share].id, usable[share].cpus);
}

cpu_binding find_cpu_binding(int local_rank, int local_size, const std::optional<std::string>& gpu_address,
                             const std::filesystem::path& sysfs) {
  rank_placement placement{local_rank, local_size, std::nullopt};
  if (gpu_address) placement.gpu = gpu_placement{read_pci_numa_node(*gpu_address, sysfs)};
  return plan_cpu_binding(read_numa_nodes(sysfs), allowed_cpus(), placement);
}

}  // namespace switchyard::harness
