// SPDX-License-Identifier: Apache-2.0
// Lines, short writes, file names that do not collide, atomic files.
#include "switchyard/harness/record_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <vector>

#include "switchyard/harness/record_reader.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

/// A disk that takes at most `room` bytes in all.
struct small_disk {
  std::string content;
  std::size_t room = 0;
  int calls = 0;
  int truncate_result = 0;
  int error = 0;  // errno of the next append
};

class small_disk_sink final : public record_sink {
 public:
  explicit small_disk_sink(small_disk& disk) : disk_(disk) {}
  std::ptrdiff_t append(std::string_view bytes) override {
    ++disk_.calls;
    if (disk_.error != 0) {
      errno = disk_.error;
      return -1;
    }
    const auto fits = std::min(bytes.size(), disk_.room - disk_.content.size());
    disk_.content += bytes.substr(0, fits);
    return static_cast<std::ptrdiff_t>(fits);
  }
  int truncate(std::uint64_t length_bytes) override {
    if (disk_.truncate_result == 0) disk_.content.resize(length_bytes);
    return disk_.truncate_result;
  }

 private:
  small_disk& disk_;
};

std::string append_error(record_writer& writer, std::string_view line) {
  try {
    writer.append(line);
  } catch (const record_error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

std::filesystem::path fresh_folder() {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(folder);
  return folder;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(record_writer, one_line_is_one_write) {
  small_disk disk;
  disk.room = 100;
  record_writer writer(std::make_unique<small_disk_sink>(disk));
  writer.append("one");
  writer.append("two");
  EXPECT_EQ(disk.content, "one\ntwo\n");
  EXPECT_EQ(disk.calls, 2);
  EXPECT_EQ(writer.written_bytes(), 8U);
}

TEST(record_writer, a_short_write_is_cut_off_and_reported) {
  small_disk disk;
  disk.room = 6;
  record_writer writer(std::make_unique<small_disk_sink>(disk));
  writer.append("one");
  EXPECT_EQ(append_error(writer, "two"), "a record could not be written: only 2 of 4 bytes went through");
  EXPECT_EQ(disk.content, "one\n");
  EXPECT_EQ(writer.written_bytes(), 4U);
  disk.room = 100;  // space again: the file goes on where its last whole line ended
  writer.append("three");
  EXPECT_EQ(disk.content, "one\nthree\n");
}

TEST(record_writer, a_failed_write_and_a_failed_cut_are_reported) {
  small_disk disk;
  disk.room = 2;
  disk.error = ENOSPC;
  record_writer writer(std::make_unique<small_disk_sink>(disk));
  EXPECT_EQ(append_error(writer, "one"), "a record could not be written: No space left on device");
  disk.error = 0;
  disk.truncate_result = -1;
  EXPECT_EQ(
      append_error(writer, "one"),
      "a record could not be written: only 2 of 4 bytes went through; what was written of it could not be cut off");
}

TEST(record_files, names_do_not_collide) {
  const auto folder = fresh_folder() / "made" / "when" / "needed";
  auto first = create_record_files(folder, "run");
  auto second = create_record_files(folder, "run");
  auto third = create_record_files(folder, "run");
  EXPECT_EQ(first.records, folder / "run.jsonl");
  EXPECT_EQ(first.summary, folder / "run.summary.json");
  EXPECT_EQ(second.records, folder / "run-2.jsonl");
  EXPECT_EQ(second.summary, folder / "run-2.summary.json");
  EXPECT_EQ(third.records, folder / "run-3.jsonl");
  record_writer writer(std::move(second.sink));
  writer.append("text");
  EXPECT_EQ(content_of(second.records), "text\n");
  EXPECT_EQ(content_of(first.records), "");
}

TEST(record_files, a_real_file_is_cut_back_and_goes_on) {
  auto files = create_record_files(fresh_folder(), "run");
  EXPECT_EQ(files.sink->append("whole\npart"), 10);
  EXPECT_EQ(files.sink->truncate(6), 0);
  EXPECT_EQ(files.sink->append("next\n"), 5);
  EXPECT_EQ(content_of(files.records), "whole\nnext\n");
}

TEST(record_files, a_folder_that_cannot_be_is_refused) {
  const auto folder = fresh_folder();
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "file") << "x";
  EXPECT_THROW(create_record_files(folder / "file", "run"), input_error);
  EXPECT_THROW(create_record_files(folder / "file" / "below", "run"), input_error);
}

TEST(record_files, a_file_appears_whole_or_not_at_all) {
  const auto folder = fresh_folder();
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "summary.json", "first");
  write_file_atomically(folder / "summary.json", "second");
  EXPECT_EQ(content_of(folder / "summary.json"), "second");
  std::filesystem::create_directories(folder / "taken");
  EXPECT_THROW(write_file_atomically(folder / "taken", "text"), record_error);
  EXPECT_THROW(write_file_atomically(folder / "no" / "folder", "text"), record_error);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    left.push_back(entry.path().filename().string());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"summary.json", "taken"}));
}

}  // namespace
}  // namespace switchyard::harness
