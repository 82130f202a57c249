// SPDX-License-Identifier: Apache-2.0
// Files of samples made by hand.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace switchyard::harness::gate {

/// An empty folder of the test's own.
inline std::filesystem::path own_folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  auto folder =
      std::filesystem::path(testing::TempDir()) / ("gate_" + std::string(test->test_suite_name()) + '_' + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline std::filesystem::path write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines) {
  std::ofstream out(file, std::ios::binary);
  for (const auto& line : lines) out << line << '\n';
  return file;
}

inline std::string samples_header(int launches, const std::string& commit = "abc", const std::string& gpu = "H200") {
  return R"({"record":"samples_header","schema":1,"started":"2026-01-01T00:00:00Z","env":{"library_version":"0.1.0",)"
         R"("git_commit":")" +
         commit + R"(","git_dirty":false},"testbed":{"gpu":")" + gpu +
         R"(","gpus":2,"links":"18 x 26562 MB/s","driver_branch":"580","cuda":"13.0","machine":"x86_64"},"launches":)" +
         std::to_string(launches) + R"(,"bench":{}})";
}

inline std::string sample(const std::string& scenario, int launch, double us, int marked = 0) {
  return R"({"record":"sample","scenario":")" + scenario + R"(","launch":)" + std::to_string(launch) +
         R"(,"time_us":)" + std::to_string(us) + R"(,"marked":)" + std::to_string(marked) + '}';
}

inline std::string samples_end(std::size_t samples, std::size_t failed = 0) {
  return R"({"record":"samples_end","samples":)" + std::to_string(samples) + R"(,"failed_launches":)" +
         std::to_string(failed) + '}';
}

inline std::string noise(const std::string& scenario, double us) {
  return R"({"record":"noise","scenario":")" + scenario +
         R"(","launches":20,"median_us":20,"shift_us":0,"splits_us":0,)"
         R"("noise_us":)" +
         std::to_string(us) + R"(,"noise_percent":1})";
}

/// Ten launches of each scenario round its time.
inline std::vector<std::string> whole_file(const std::vector<std::pair<std::string, double>>& scenarios,
                                           const std::string& commit = "abc", const std::string& gpu = "H200") {
  std::vector<std::string> lines{samples_header(10, commit, gpu)};
  for (int launch = 0; launch < 10; ++launch) {
    for (const auto& [id, us] : scenarios) lines.push_back(sample(id, launch, us + 0.01 * (launch * 7 % 10)));
  }
  lines.push_back(samples_end(scenarios.size() * 10));
  return lines;
}

}  // namespace switchyard::harness::gate
