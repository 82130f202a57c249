// SPDX-License-Identifier: Apache-2.0
// The files that a run writes.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

class file_sink final : public record_sink {
 public:
  explicit file_sink(int descriptor) : descriptor_(descriptor) {}
  ~file_sink() override { ::close(descriptor_); }
  file_sink(const file_sink&) = delete;
  file_sink& operator=(const file_sink&) = delete;

  std::ptrdiff_t append(std::string_view bytes) override {
    ::ssize_t written = 0;
    do {
      written = ::write(descriptor_, bytes.data(), bytes.size());
    } while (written < 0 && errno == EINTR);
    return written;
  }
  int truncate(std::uint64_t length_bytes) override {
    return ::ftruncate(descriptor_, static_cast<::off_t>(length_bytes));
  }

 private:
  int descriptor_;
};

[[noreturn]] void refuse_folder(const std::filesystem::path& folder, const std::string& why) {
  refuse({folder.string(), ""}, "", "records cannot be written there: " + why);
}

/// Of two runs that go on with the same records one would repeat the other's cases. Held as long as the file is open.
bool lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

}  // namespace

record_files create_record_files(const std::filesystem::path& folder, const std::string& stem) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) refuse_folder(folder, failure.message());
  constexpr int attempts = 10'000;  // that many runs in one second, and something else is wrong
  for (int number = 1; number <= attempts; ++number) {
    const auto name = number == 1 ? stem : stem + '-' + std::to_string(number);
    record_files files;
    files.records = folder / (name + ".jsonl");
    files.summary = folder / (name + ".summary.json");
    // O_EXCL: of two runs that start at once only one gets the name. O_APPEND: after a cut the next line goes to the
    // new end.
    const int descriptor = ::open(files.records.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor >= 0) {
      static_cast<void>(lock(descriptor));  // a file system without locks still takes records
      files.sink = std::make_unique<file_sink>(descriptor);
      return files;
    }
    if (errno != EEXIST) refuse_folder(folder, std::strerror(errno));
  }
  refuse_folder(folder, "no free file name " + stem + "-N.jsonl");
}

record_files open_record_files(const std::filesystem::path& records) {
  const input_place place{records.string(), ""};
  constexpr std::string_view ending = ".jsonl";
  auto stem = records.filename().string();
  if (!stem.ends_with(ending)) refuse(place, "", "must be the .jsonl file of a run");
  stem.resize(stem.size() - ending.size());
  record_files files;
  files.records = records;
  files.summary = records.parent_path() / (stem + ".summary.json");
  const int descriptor = ::open(records.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) refuse(place, "", std::string("cannot be opened for writing: ") + std::strerror(errno));
  files.sink = std::make_unique<file_sink>(descriptor);
  if (!lock(descriptor) && errno == EWOULDBLOCK) refuse(place, "", "another run is writing these records");
  return files;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  auto temporary = path;
  temporary += ".tmp";
  const auto fail = [&](const char* what) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    throw record_error(path.string() + ": " + what + ": " + std::strerror(reason));
  };
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail("cannot be created");
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      ::close(descriptor);
      errno = reason;
      fail("cannot be written");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  // The name must not appear before the bytes are safe.
  const bool safe = ::fsync(descriptor) == 0;
  if (::close(descriptor) != 0 || !safe) fail("cannot be written");
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail("cannot be put in place");
}

}  // namespace switchyard::harness
