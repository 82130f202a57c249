// SPDX-License-Identifier: Apache-2.0
#include "comm/descriptors.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {

unique_descriptor copy_of(int descriptor) {
  if (descriptor < 0) return {};
  unique_descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (copy) return copy;
  if (errno == EMFILE) throw_no_more_descriptors();
  throw invalid_argument("comm backend: descriptor " + std::to_string(descriptor) + " is not open, must be, or -1");
}

std::vector<int> release_all(std::vector<unique_descriptor>& descriptors) {
  std::vector<int> numbers;
  numbers.reserve(descriptors.size());
  for (auto& descriptor : descriptors) numbers.push_back(descriptor.release());
  return numbers;
}

void throw_no_more_descriptors() {
  throw unsupported(
      "comm backend: this process may have no more file descriptors, must have one for each rank (RLIMIT_NOFILE)");
}

}  // namespace switchyard::comm
