// SPDX-License-Identifier: Apache-2.0
// Records are gone on with only by the run that they belong to.
#include "switchyard/harness/resume.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sample_results.hpp"
#include "switchyard/harness/digest.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_reader.hpp"

namespace switchyard::harness {
namespace {

class resume : public testing::Test {
 protected:
  void SetUp() override {
    run_.started = "2026-11-29T16:46:08Z";
    run_.seed = 5;
    run_.cases = cases_.size();
    run_.cases_digest = cases_digest(cases_);
    std::filesystem::remove_all(path_.parent_path());
    std::filesystem::create_directories(path_.parent_path());
  }

  static std::string line_of(const case_spec& spec) {
    return record_line(case_json(spec, sample_pass(10, 20), 5, std::chrono::nanoseconds(99))) + '\n';
  }
  [[nodiscard]] nlohmann::ordered_json header() const { return header_json(read_environment(), run_); }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  [[nodiscard]] std::string content() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// The message with which `text` is refused; the file must not have changed.
  std::string refused(const std::string& text, const nlohmann::ordered_json& header) const {
    write(text);
    try {
      resume_records(path_, header, cases_);
    } catch (const input_error& error) {
      EXPECT_EQ(content(), text);
      const std::string message = error.what();
      EXPECT_EQ(message.rfind(path_.string() + ": ", 0), 0U) << message;
      return message.substr(path_.string().size() + 2);
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("resume_") + testing::UnitTest::GetInstance()->current_test_info()->name()) / "r.jsonl";
  std::vector<case_spec> cases_{sample_spec("s", "ranks=2"), sample_spec("s", "ranks=3"), sample_spec("s", "ranks=4")};
  run_description run_;
};

TEST_F(resume, goes_on_after_the_last_whole_line) {
  const auto head = record_line(header()) + '\n';
  for (const std::string& torn : {std::string(), line_of(cases_[2]).substr(0, 30)}) {
    write(head + line_of(cases_[0]) + torn);
    run_.started = "2026-11-30T00:00:00Z";  // another moment, the same run
    {
      auto resumed = resume_records(path_, header(), cases_);
      EXPECT_EQ(resumed.torn_lines, torn.empty() ? 0U : 1U);
      EXPECT_EQ(resumed.header_line + '\n', head);
      ASSERT_EQ(resumed.done.size(), 1U);
      EXPECT_EQ(resumed.done.at(cases_[0].id).line + '\n', line_of(cases_[0]));
      EXPECT_EQ(resumed.done.at(cases_[0].id).result.checked_bytes, 1'000'000U);
      EXPECT_EQ(resumed.files.summary.filename(), "r.summary.json");
      record_writer writer(std::move(resumed.files.sink), resumed.length_bytes);
      const auto next = line_of(cases_[1]);
      writer.append(std::string_view(next).substr(0, next.size() - 1));
    }
    EXPECT_EQ(content(), head + line_of(cases_[0]) + line_of(cases_[1]));
    EXPECT_EQ(read_records_file(path_).missing_cases, 1U);
  }
}

TEST_F(resume, another_run_is_refused_with_the_reason) {
  const auto text = record_line(header()) + '\n' + line_of(cases_[0]);
  run_.seed = 6;
  EXPECT_EQ(refused(text, header()), "record 1: /run/seed: 5: must be 6, as in this run, to be resumed");
  run_.seed = 5;
  run_.part = shard{1, 2};
  EXPECT_EQ(refused(text, header()),
            R"(record 1: /run/shard: null: must be {"count":2,"index":1}, as in this run, to be resumed)");
  run_.part.reset();
  run_.selection.filter = "*";
  EXPECT_EQ(refused(text, header()).rfind("record 1: /run/selection: {", 0), 0U);
  run_.selection.filter.clear();
  run_.cases_digest = 1;
  const auto changed = refused(text, header());
  EXPECT_EQ(changed.rfind("record 1: /run/cases_digest: \"0x", 0), 0U) << changed;
  EXPECT_NE(changed.find("\": the scenarios have changed since: another \"0x1\" in this run"), std::string::npos)
      << changed;
  run_.cases_digest = cases_digest(cases_);
  run_.fabric.kind = fabric_kind::cuda;
  EXPECT_EQ(refused(text, header()), R"(record 1: /run/fabric: "host": must be "cuda", as in this run, to be resumed)");
  run_.fabric = {fabric_kind::cuda, {"A"}, "1"};
  const auto on_one = record_line(header()) + '\n' + line_of(cases_[0]);
  run_.fabric.gpus = {"A", "A"};
  EXPECT_EQ(refused(on_one, header()),
            R"(record 1: /run/gpus: ["A"]: must be ["A","A"], as in this run, to be resumed)");
  run_.fabric = {};
  auto elsewhere = header();
  elsewhere["env"]["compiler"] = "Other 1";
  EXPECT_NE(refused(text, elsewhere).find(R"(must be "Other 1", as in this run, to be resumed)"), std::string::npos);
}

TEST_F(resume, records_that_contradict_themselves_are_refused) {
  const auto head = record_line(header()) + '\n';
  EXPECT_EQ(refused(head + line_of(cases_[0]) + line_of(cases_[0]), header()),
            R"(record 3: /id: "u/s@ranks=2": is recorded twice)");
  EXPECT_EQ(refused(head + line_of(sample_spec("t", "ranks=2")), header()),
            R"(record 2: /id: "u/t@ranks=2": is not among the cases of this run)");
  EXPECT_EQ(refused("", header()), "no records: not one whole line");
  auto other = case_json(cases_[0], sample_pass(10, 20), 5, std::chrono::nanoseconds(99));
  other["seed"] = 6;
  EXPECT_EQ(refused(head + record_line(other) + '\n', header()),
            "record 2: /seed: 6: must be 5, as in this run, to be resumed");
  other["seed"] = 5;
  other["spec"]["ranks"] = 7;
  EXPECT_EQ(refused(head + record_line(other) + '\n', header()),
            "record 2: /spec/ranks: 7: must be 2, as in this run, to be resumed");
  other["spec"]["ranks"] = 2;
  other["total_findings"] = 5;
  EXPECT_EQ(refused(head + record_line(other) + '\n', header()),
            "record 2: /total_findings: 5: must be 0: the case is said to have passed");
}

TEST_F(resume, only_one_run_writes_records) {
  write(record_line(header()) + '\n');
  const auto first = resume_records(path_, header(), cases_);
  try {
    resume_records(path_, header(), cases_);
    FAIL() << "both write";
  } catch (const input_error& error) {
    EXPECT_EQ(std::string(error.what()), path_.string() + ": another run is writing these records");
  }
}

TEST_F(resume, what_is_no_records_file_is_refused) {
  EXPECT_THROW(resume_records(path_.parent_path() / "r.json", header(), cases_), input_error);
  EXPECT_THROW(resume_records(path_.parent_path() / "none.jsonl", header(), cases_), input_error);
  EXPECT_THROW(resume_records(path_.parent_path(), header(), cases_), input_error);
}

}  // namespace
}  // namespace switchyard::harness
