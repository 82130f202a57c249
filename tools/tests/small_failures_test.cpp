// SPDX-License-Identifier: Apache-2.0
// The end of a run of drawn cases, with a library that is wrong by hand.
#include "small_failures.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/scenario_file.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::tools {
namespace {

namespace fs = std::filesystem;

harness::case_result wrong_with_three_ranks(const harness::case_spec& spec) {
  harness::case_result result;
  if (spec.ep_size < 3) return result;
  result.status = harness::case_status::fail;
  result.findings.push_back({.verdict = harness::verdict::loss});
  return result;
}

class small_failures : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const auto& spec : harness::draw_cases(5, 40)) found_.case_ended(spec, wrong_with_three_ranks(spec), {});
    options_.seed = 5;
    options_.call.program = "switchyard";
  }

  std::string tell(const fs::path& folder, bool stopped = false) {
    testing::internal::CaptureStdout();
    write_small_failures(options_, found_, wrong_with_three_ranks, folder, [=] { return stopped; });
    return testing::internal::GetCapturedStdout();
  }

  fs::path folder_;
  harness::failure_collector found_{most_small_failures};
  run_command_options options_;
};

TEST_F(small_failures, are_scenario_files_beside_the_records) {
  const auto told = tell(folder_);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const auto cases = harness::expand(harness::read_suite_file(entry.path()), {});
    ASSERT_EQ(cases.size(), 1U);
    EXPECT_EQ(wrong_with_three_ranks(cases.front()).status, harness::case_status::fail);
    EXPECT_EQ(cases.front().ep_size, 3);
    EXPECT_NE(told.find("  repeat it: switchyard run " + entry.path().string() + " --seed 5\n"), std::string::npos)
        << told;
    ++files;
  }
  EXPECT_EQ(files, most_small_failures);
  EXPECT_NE(told.find("made small: the first 3 of " + std::to_string(found_.total()) + " failures\n"),
            std::string::npos);
}

TEST_F(small_failures, that_cannot_be_written_are_printed) {
  const auto told = tell(folder_ / "not_there");
  EXPECT_NE(told.find("; its text is\n{\n  \"suite\": \"shrunk_"), std::string::npos) << told;
}

TEST_F(small_failures, are_left_alone_after_a_stop) {
  EXPECT_EQ(tell(folder_, true).find("made small in"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace switchyard::tools
