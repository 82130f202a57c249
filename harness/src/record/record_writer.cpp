// SPDX-License-Identifier: Apache-2.0
// One line, one write.
#include "switchyard/harness/record_writer.hpp"

#include <cerrno>
#include <cstring>

namespace switchyard::harness {

void record_writer::append(std::string_view line) {
  std::string bytes(line);
  bytes += '\n';
  errno = 0;
  const auto written = sink_->append(bytes);
  if (written == static_cast<std::ptrdiff_t>(bytes.size())) {
    length_bytes_ += bytes.size();
    return;
  }
  std::string message = "a record could not be written: ";
  if (written < 0) {
    message += std::strerror(errno);
  } else {
    message += "only " + std::to_string(written) + " of " + std::to_string(bytes.size()) + " bytes went through";
  }
  // Part of a line in the middle of the file would spoil it for every reader.
  if (sink_->truncate(length_bytes_) != 0) message += "; what was written of it could not be cut off";
  throw record_error(message);
}

}  // namespace switchyard::harness
