// SPDX-License-Identifier: Apache-2.0
// A tree of files as sysfs has them, of one test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace switchyard::harness {

class planted_sysfs {
 public:
  planted_sysfs() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) /
            (std::string("sysfs_") + test->test_suite_name() + '_' + test->name());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~planted_sysfs() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  planted_sysfs(const planted_sysfs&) = delete;
  planted_sysfs& operator=(const planted_sysfs&) = delete;

  void plant(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void plant_node(int id, const std::string& cpus) const {
    plant("devices/system/node/node" + std::to_string(id) + "/cpulist", cpus + '\n');
  }
  void plant_device(const std::string& address, const std::string& node) const {
    plant("bus/pci/devices/" + address + "/numa_node", node + '\n');
  }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace switchyard::harness
