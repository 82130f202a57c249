// SPDX-License-Identifier: Apache-2.0
// Which CPUs a rank gets, and that its process is bound to them.
#include "switchyard/harness/cpu_binding.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "planted_sysfs.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/spec/errors.hpp"

namespace {

/// The largest CPU of the last set that was handed to the system: what lies past the host's own, it passes over.
thread_local int largest_cpu_asked_for = -1;

}  // namespace

/// Takes the place of the C library's for the code under test.
extern "C" int sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* set) noexcept {
  const int num_cpus = static_cast<int>(bytes * 8);
  for (int cpu = 0; cpu < num_cpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) largest_cpu_asked_for = cpu;
  }
  return static_cast<int>(::syscall(SYS_sched_setaffinity, thread, bytes, set));
}

namespace switchyard::harness {
namespace {

std::vector<numa_node> nodes_of(const std::vector<std::string>& lists) {
  std::vector<numa_node> nodes;
  for (const auto& list : lists) nodes.push_back({static_cast<int>(nodes.size()), parse_cpu_list(list)});
  return nodes;
}

rank_placement near_gpu(std::optional<int> node) { return {0, 1, gpu_placement{node}}; }

/// The list, and the node or the reason.
std::string planned(const std::vector<numa_node>& nodes, std::string_view allowed, const rank_placement& placement) {
  const auto binding = plan_cpu_binding(nodes, parse_cpu_list(allowed), placement);
  EXPECT_EQ(cpu_list_text(binding.cpus), binding.cpu_list);
  EXPECT_EQ(binding.numa_node.has_value(), binding.kept_because.empty());
  return binding.cpu_list + " " +
         (binding.numa_node ? "node " + std::to_string(*binding.numa_node) : binding.kept_because);
}

const auto two_sockets = nodes_of({"0-71", "72-143"});

TEST(cpu_binding, a_rank_with_a_gpu_runs_on_the_gpus_node) {
  EXPECT_EQ(planned(two_sockets, "0-143", near_gpu(1)), "72-143 node 1");
  EXPECT_EQ(planned(two_sockets, "70-75,200", near_gpu(1)), "72-75 node 1");
  EXPECT_EQ(planned(two_sockets, "70-75,200", near_gpu(0)), "70-71 node 0");
  EXPECT_EQ(planned(nodes_of({"0-1023", "1024-2047"}), "0-2047", near_gpu(1)), "1024-2047 node 1");
}

TEST(cpu_binding, a_rank_whose_gpus_node_is_of_no_use_keeps_what_it_has) {
  EXPECT_EQ(planned(two_sockets, "0-3", near_gpu(1)), "0-3 the GPU's NUMA node 1 has no CPU that this process may use");
  EXPECT_EQ(planned(two_sockets, "0-143", near_gpu(9)),
            "0-143 the GPU's NUMA node 9 has no CPU that this process may use");
  EXPECT_EQ(planned(two_sockets, "0-143", near_gpu(std::nullopt)),
            "0-143 the system does not say which NUMA node the GPU is on");
  EXPECT_EQ(planned({}, "0-7", near_gpu(0)), "0-7 the GPU's NUMA node 0 has no CPU that this process may use");
}

TEST(cpu_binding, ranks_without_gpus_are_dealt_over_the_nodes_in_blocks) {
  const auto of = [](int local_rank, int local_size) { return rank_placement{local_rank, local_size, std::nullopt}; };
  const auto four = nodes_of({"0-3", "4-7", "8-11", "12-15"});
  std::vector<std::string> dealt;
  for (int rank = 0; rank < 6; ++rank) dealt.push_back(planned(four, "0-15", of(rank, 6)));
  EXPECT_EQ(dealt, std::vector<std::string>(
                       {"0-3 node 0", "0-3 node 0", "4-7 node 1", "8-11 node 2", "8-11 node 2", "12-15 node 3"}));
  EXPECT_EQ(planned(four, "0-15", of(0, 1)), "0-3 node 0");
  EXPECT_EQ(planned(four, "0-15", of(1, 2)), "8-11 node 2");
  EXPECT_EQ(planned(two_sockets, "0-143", of(255, 256)), "72-143 node 1");
  // Nodes of which the process may use nothing take no part.
  EXPECT_EQ(planned(four, "5,13-14", of(0, 2)), "5 node 1");
  EXPECT_EQ(planned(four, "5,13-14", of(1, 2)), "13-14 node 3");
}

TEST(cpu_binding, ranks_on_a_system_without_nodes_keep_what_they_have) {
  const std::string reason = " the system tells of no NUMA node with a CPU that this process may use";
  EXPECT_EQ(planned({}, "0-7", {0, 2, std::nullopt}), "0-7" + reason);
  EXPECT_EQ(planned(two_sockets, "200", {1, 2, std::nullopt}), "200" + reason);
}

TEST(cpu_binding, impossible_requests_are_refused) {
  EXPECT_THROW((void)plan_cpu_binding(two_sockets, {}, {0, 1, std::nullopt}), invalid_argument);
  EXPECT_THROW((void)plan_cpu_binding(two_sockets, {0}, {1, 1, std::nullopt}), invalid_argument);
  EXPECT_THROW((void)plan_cpu_binding(two_sockets, {0}, {-1, 1, std::nullopt}), invalid_argument);
  EXPECT_THROW((void)plan_cpu_binding(two_sockets, {0}, {0, 0, std::nullopt}), invalid_argument);
}

TEST(cpu_binding, a_host_is_read_and_planned) {
  const auto allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  const planted_sysfs sysfs;
  sysfs.plant_node(0, "");
  sysfs.plant_node(3, cpu_list_text(allowed) + ",65535");
  sysfs.plant_device("0009:01:00.0", "3");
  sysfs.plant_device("0008:01:00.0", "0");
  const auto near = find_cpu_binding(1, 2, "0009:01:00.0", sysfs.root());
  EXPECT_EQ(near.cpus, allowed);
  EXPECT_EQ(near.numa_node, 3);
  EXPECT_EQ(find_cpu_binding(0, 2, "0008:01:00.0", sysfs.root()).kept_because,
            "the GPU's NUMA node 0 has no CPU that this process may use");
  EXPECT_EQ(find_cpu_binding(0, 2, std::nullopt, sysfs.root()).numa_node, 3);
}

TEST(cpu_binding, this_host_gives_a_binding_that_holds) {
  std::thread([] {
    const auto binding = find_cpu_binding(0, 1, std::nullopt);
    ASSERT_FALSE(binding.cpus.empty());
    binding.apply();
    EXPECT_EQ(cpu_list_text(allowed_cpus()), binding.cpu_list);
  }).join();
}

TEST(cpu_binding, binds_the_thread_and_those_that_it_starts) {
  const auto before = allowed_cpus();
  std::thread([&] {
    const auto binding = plan_cpu_binding({{0, {before.back()}}}, before, {0, 1, std::nullopt});
    binding.apply();
    EXPECT_EQ(allowed_cpus(), cpu_numbers({before.back()}));
    std::thread([&] { EXPECT_EQ(allowed_cpus(), cpu_numbers({before.back()})); }).join();
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(cpu_binding, reaches_past_1024_cpus) {
  const auto before = allowed_cpus();
  std::thread([&] {
    // The kernel leaves out of a set what the host has not, so this is the first CPU.
    cpu_binding binding;
    binding.cpus = {before.front(), most_cpu_number};
    binding.cpu_list = cpu_list_text(binding.cpus);
    binding.numa_node = 0;
    binding.apply();
    EXPECT_EQ(allowed_cpus(), cpu_numbers({before.front()}));
    EXPECT_EQ(largest_cpu_asked_for, most_cpu_number);
  }).join();
}

TEST(cpu_binding, what_the_system_refuses_is_said) {
  cpu_binding binding;
  binding.cpus = {most_cpu_number};
  binding.cpu_list = "65535";
  binding.numa_node = 0;
  try {
    binding.apply();
    FAIL() << "a CPU that is not there";
  } catch (const environment_error& refused) {
    EXPECT_EQ(std::string(refused.what()), "cannot run on CPUs 65535: Invalid argument");
  }
  binding.kept_because = "a test says so";
  binding.apply();
}

}  // namespace
}  // namespace switchyard::harness
