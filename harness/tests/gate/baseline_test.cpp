// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/baseline.hpp"

#include "sample_files.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

const baseline_decision said{"2026-01-01T00:00:00Z", {}, "somebody", "measured on an idle machine", {}, {}, {}, {}};

template <class Do>
std::string refusal_of(Do act) {
  try {
    act();
  } catch (const input_error& error) {
    return error.what();
  }
  return "not refused";
}

class baselines : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = own_folder();
    dir_ = folder_ / "baseline";
    good_ = write_lines(folder_ / "good.jsonl", whole_file({{"a", 20}}));
    bed_ = read_samples(good_).bed;
  }
  std::string accepting(const std::filesystem::path& samples, accept_what what = accept_what::sound) {
    return refusal_of([&] { baseline_folder(dir_).accept(samples, said, what); });
  }

  std::filesystem::path folder_;
  std::filesystem::path dir_;
  std::filesystem::path good_;
  testbed bed_;
};

TEST_F(baselines, a_folder_that_is_not_there_has_none) {
  EXPECT_FALSE(baseline_folder(dir_).accepted(bed_));
  EXPECT_TRUE(baseline_folder(dir_).log().empty());
}

TEST_F(baselines, what_is_accepted_is_found_by_its_testbed_and_logged) {
  EXPECT_EQ(accepting(good_), "not refused");
  const baseline_folder again(dir_);
  EXPECT_EQ(again.accepted(bed_)->find("a")->time_us.size(), 10U);
  auto other = bed_;
  other.driver_branch = "590";
  EXPECT_FALSE(again.accepted(other));
  ASSERT_EQ(again.log().size(), 1U);
  const auto& line = again.log()[0];
  EXPECT_EQ(line.owner, "somebody");
  EXPECT_EQ(line.samples, "good.jsonl");
  EXPECT_EQ(line.testbed, key_of(bed_));
  EXPECT_EQ(line.build, "0.1.0, commit abc");
}

TEST_F(baselines, a_later_one_takes_the_place_and_the_log_keeps_both) {
  EXPECT_EQ(accepting(good_), "not refused");
  EXPECT_EQ(accepting(write_lines(folder_ / "later.jsonl", whole_file({{"a", 25}}, "def"))), "not refused");
  const baseline_folder now(dir_);
  EXPECT_EQ(now.accepted(bed_)->build, "0.1.0, commit def");
  EXPECT_EQ(now.log().size(), 2U);
  EXPECT_EQ(now.standing().size(), 1U);
}

TEST_F(baselines, what_is_rejected_is_withdrawn_and_stays_out) {
  EXPECT_EQ(accepting(good_), "not refused");
  auto decision = said;
  decision.reason = "the clocks were low";
  baseline_folder(dir_).reject(good_, decision);
  EXPECT_FALSE(baseline_folder(dir_).accepted(bed_));
  EXPECT_NE(accepting(good_).find("was rejected by somebody on 2026-01-01T00:00:00Z: the clocks were low"),
            std::string::npos);
  std::filesystem::copy_file(good_, folder_ / "renamed.jsonl");
  EXPECT_NE(accepting(folder_ / "renamed.jsonl").find("was rejected"), std::string::npos);
  EXPECT_EQ(accepting(good_, accept_what::anything), "not refused");
  EXPECT_TRUE(baseline_folder(dir_).accepted(bed_));
}

TEST_F(baselines, rejecting_another_leaves_the_accepted_one) {
  EXPECT_EQ(accepting(good_), "not refused");
  baseline_folder(dir_).reject(write_lines(folder_ / "bad.jsonl", whole_file({{"a", 30}})), said);
  EXPECT_TRUE(baseline_folder(dir_).accepted(bed_));
}

TEST_F(baselines, what_is_not_sound_is_refused) {
  auto failed = whole_file({{"a", 20}});
  failed.insert(failed.end() - 1, R"({"record":"launch_failed","launch":2,"why":"ended by signal 9"})");
  failed.back() = samples_end(10, 1);
  EXPECT_NE(accepting(write_lines(folder_ / "f.jsonl", failed)).find("launch 2: ended by signal 9"), std::string::npos);
  auto dirty = whole_file({{"a", 20}});
  dirty[0].replace(dirty[0].find("\"git_dirty\":false"), 17, "\"git_dirty\":true");
  EXPECT_NE(accepting(write_lines(folder_ / "f.jsonl", dirty)).find("sources without changes"), std::string::npos);
  dirty[0].replace(dirty[0].find("\"git_dirty\":true"), 16, "\"git_dirty\":null");  // nobody knows
  EXPECT_NE(accepting(write_lines(folder_ / "f.jsonl", dirty)).find("sources without changes"), std::string::npos);
  std::vector<std::string> few{samples_header(7)};
  for (int i = 0; i < 7; ++i) few.push_back(sample("a", i, 20 + i));
  few.push_back(samples_end(7));
  EXPECT_NE(accepting(write_lines(folder_ / "f.jsonl", few)).find("a: must have at least 8 launches, not 7"),
            std::string::npos);
  auto cut = whole_file({{"a", 20}});
  cut.pop_back();
  EXPECT_NE(accepting(write_lines(folder_ / "f.jsonl", cut)).find("cut short"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "log.jsonl"));
}

TEST_F(baselines, a_testbed_that_is_not_known_is_refused_even_so) {
  auto lines = whole_file({{"a", 20}});
  lines[0].replace(lines[0].find("\"580\""), 5, "null");
  const auto file = write_lines(folder_ / "f.jsonl", lines);
  EXPECT_NE(accepting(file).find("has no driver in its testbed"), std::string::npos);
  EXPECT_NE(accepting(file, accept_what::anything).find("has no driver in its testbed"), std::string::npos);
  lines = whole_file({{"a", 20}});
  lines[0].replace(lines[0].find("\"18 x 26562 MB/s\""), 17, "null");
  EXPECT_EQ(accepting(write_lines(folder_ / "f.jsonl", lines)), "not refused");
}

TEST_F(baselines, a_decision_needs_an_owner_and_a_reason) {
  auto nameless = said;
  nameless.owner.clear();
  EXPECT_NE(refusal_of([&] { baseline_folder(dir_).accept(good_, nameless, accept_what::sound); }).find("--owner"),
            std::string::npos);
  auto silent = said;
  silent.reason.clear();
  EXPECT_NE(refusal_of([&] { baseline_folder(dir_).reject(good_, silent); }).find("--reason"), std::string::npos);
}

TEST_F(baselines, what_was_changed_behind_the_log_is_refused) {
  EXPECT_EQ(accepting(good_), "not refused");
  write_lines(dir_ / (file_stem_of(bed_) + ".jsonl"), whole_file({{"a", 40}}));
  EXPECT_NE(refusal_of([&] { (void)baseline_folder(dir_).accepted(bed_); }).find("its digest differs"),
            std::string::npos);
  std::ofstream(dir_ / "log.jsonl", std::ios::app) << "{\"record\":\"baseline_log\"";
  EXPECT_NE(refusal_of([&] { (void)baseline_folder(dir_); }).find("cut short"), std::string::npos);
}

}  // namespace
}  // namespace switchyard::harness::gate
