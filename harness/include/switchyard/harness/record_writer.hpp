// SPDX-License-Identifier: Apache-2.0
// Writes records as they happen: one line, one write. What a crash leaves behind is whole lines and at most one torn
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace switchyard::harness {

/// A record could not be written: a full disk, for example.
class record_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where a writer's bytes go. A file, or what a test puts in its place.
class record_sink {
 public:
  record_sink() = default;
  virtual ~record_sink() = default;
  record_sink(const record_sink&) = delete;
  record_sink& operator=(const record_sink&) = delete;

  /// Appends with one write(2). Returns how many bytes went through, or -1 with errno set.
  virtual std::ptrdiff_t append(std::string_view bytes) = 0;
  /// Cuts back to `length_bytes`. Returns 0, or -1 with errno set.
  virtual int truncate(std::uint64_t length_bytes) = 0;
};

class record_writer {
 public:
  /// `length_bytes`: what the sink holds already.
  explicit record_writer(std::unique_ptr<record_sink> sink, std::uint64_t length_bytes = 0)
      : sink_(std::move(sink)), length_bytes_(length_bytes) {}

  /// Appends `line` and a newline. `line` has no newline in it. When not all of it goes through, what did is cut off
  /// again and record_error says so; the writer can be used again.
  void append(std::string_view line);

  [[nodiscard]] std::uint64_t written_bytes() const noexcept { return length_bytes_; }

 private:
  std::unique_ptr<record_sink> sink_;
  std::uint64_t length_bytes_;
};

/// The files of one run: a fresh pair of names that no other run has.
struct record_files {
  std::filesystem::path records;  ///< created, empty
  std::filesystem::path summary;  ///< beside it, not yet there
  std::unique_ptr<record_sink> sink;
};

/// Makes `folder` when needed, and in it <stem>.jsonl, or <stem>-2.jsonl and so on when that is taken.
/// Throws input_error when it cannot.
record_files create_record_files(const std::filesystem::path& folder, const std::string& stem);

/// Opens records that are there, to go on with them; the cursor does not matter. Throws input_error when that cannot be
/// done, also because another run writes them.
record_files open_record_files(const std::filesystem::path& records);

/// Writes `text` to a temporary beside `path` and renames it, so that readers see all of it or nothing.
/// Throws record_error.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace switchyard::harness
