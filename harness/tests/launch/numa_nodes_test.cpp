// SPDX-License-Identifier: Apache-2.0
// Lists of CPUs, and what planted trees say of nodes and devices.
#include <gtest/gtest.h>

#include <numeric>

#include "planted_sysfs.hpp"
#include "switchyard/harness/cpu_binding.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

template <typename Call>
std::string refusal_of_call(Call&& call) {
  try {
    call();
    return "not refused";
  } catch (const input_error& refused) {
    return refused.what();
  }
}

TEST(cpu_lists, are_read) {
  EXPECT_EQ(parse_cpu_list("0"), cpu_numbers({0}));
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), cpu_numbers({0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("5,1-2,2,0"), cpu_numbers({0, 1, 2, 5}));
  EXPECT_EQ(parse_cpu_list(""), cpu_numbers());
  EXPECT_EQ(parse_cpu_list("\n"), cpu_numbers());
  EXPECT_EQ(parse_cpu_list("65535"), cpu_numbers({most_cpu_number}));
  const auto many = parse_cpu_list("0-2047");
  EXPECT_EQ(many.size(), 2048U);
  EXPECT_EQ(many.back(), 2047);
}

TEST(cpu_lists, what_is_none_is_refused) {
  for (const auto* text : {",", "0,", ",0", "0,,1", "-", "0-", "-1", "0--1", "3-2", "0-1-2", "a", "0x1", "0 1", "0-3:2",
                           "65536", "0-4294967295", "-0", "+1"}) {
    EXPECT_EQ(refusal_of_call([&] { (void)parse_cpu_list(text); }),
              std::string(text) + ": must be a list of CPUs such as 0-3,8,10-11, none above 65535");
  }
}

TEST(cpu_lists, are_written_as_short_as_the_kernel_does) {
  EXPECT_EQ(cpu_list_text({}), "");
  EXPECT_EQ(cpu_list_text({7}), "7");
  EXPECT_EQ(cpu_list_text({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  cpu_numbers many(2048);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(cpu_list_text(many), "0-2047");
}

TEST(numa_nodes, are_read_by_number_and_without_those_that_have_no_cpus) {
  // A host of two Grace CPUs and four GPUs, whose memory is nodes of its own.
  const planted_sysfs sysfs;
  for (int node = 2; node < 34; ++node) sysfs.plant_node(node, "");
  sysfs.plant_node(0, "0-71");
  sysfs.plant_node(1, "72-143");
  sysfs.plant_node(40, "1024-1025");
  sysfs.plant("devices/system/node/online", "0-33\n");
  sysfs.plant("devices/system/node/nodes/cpulist", "no list\n");
  sysfs.plant("devices/system/node/node/cpulist", "no list\n");
  sysfs.plant("devices/system/node/node5x/cpulist", "no list\n");
  sysfs.plant("devices/system/node/node50/meminfo", "\n");
  const auto nodes = read_numa_nodes(sysfs.root());
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].id, 0);
  EXPECT_EQ(cpu_list_text(nodes[0].cpus), "0-71");
  EXPECT_EQ(nodes[1].id, 1);
  EXPECT_EQ(cpu_list_text(nodes[1].cpus), "72-143");
  EXPECT_EQ(nodes[2].id, 40);
  EXPECT_EQ(cpu_list_text(nodes[2].cpus), "1024-1025");
}

TEST(numa_nodes, a_system_without_them_has_none) {
  const planted_sysfs sysfs;
  EXPECT_TRUE(read_numa_nodes(sysfs.root()).empty());
}

TEST(numa_nodes, a_list_that_is_none_is_refused_with_its_file) {
  const planted_sysfs sysfs;
  sysfs.plant_node(1, "0-x");
  EXPECT_EQ(refusal_of_call([&] { (void)read_numa_nodes(sysfs.root()); }),
            (sysfs.root() / "devices/system/node/node1/cpulist").string() +
                ": 0-x: must be a list of CPUs such as 0-3,8,10-11, none above 65535");
}

TEST(numa_nodes, of_devices_are_found_however_their_address_is_spelt) {
  const planted_sysfs sysfs;
  sysfs.plant_device("0000:3b:00.0", "0");
  sysfs.plant_device("0018:01:00.0", "1");
  sysfs.plant_device("10018:01:00.0", "3");
  sysfs.plant_device("0000:00:1f.7", "-1");
  const auto node = [&](std::string_view address) { return read_pci_numa_node(address, sysfs.root()); };
  EXPECT_EQ(node("0000:3b:00.0"), 0);
  EXPECT_EQ(node("0000:3B:00.0"), 0);
  EXPECT_EQ(node("00000000:3B:00.0"), 0);
  EXPECT_EQ(node("00000018:01:00.0"), 1);
  EXPECT_EQ(node("00010018:01:00.0"), 3);
  EXPECT_EQ(node("0000:00:1f.7"), std::nullopt);
  EXPECT_EQ(node("0000:99:00.0"), std::nullopt);
}

TEST(numa_nodes, addresses_and_numbers_that_are_none_are_refused) {
  const planted_sysfs sysfs;
  for (const auto* address : {"", "3b:00.0", "000:3b:00.0", "000000000:3b:00.0", "0000:3b:00", "0000:3b:00.8",
                              "0000:3b:00.0 ", "0000:3g:00.0", "../../x:3b:00.0", "0000/3b/00.0", "0000:3b.00:0"}) {
    EXPECT_EQ(refusal_of_call([&] { (void)read_pci_numa_node(address, sysfs.root()); }),
              std::string("PCI address ") + address + ": must be domain:bus:device.function such as 0000:3b:00.0");
  }
  sysfs.plant_device("0000:3b:00.0", "-2");
  EXPECT_EQ(
      refusal_of_call([&] { (void)read_pci_numa_node("0000:3b:00.0", sysfs.root()); }),
      (sysfs.root() / "bus/pci/devices/0000:3b:00.0/numa_node").string() + ": -2: must be the number of a node, or -1");
}

}  // namespace
}  // namespace switchyard::harness
