// SPDX-License-Identifier: Apache-2.0
// Records that a test looks at.
#pragma once

#include <string>

#include "switchyard/harness/record_writer.hpp"

namespace switchyard::harness {

class memory_sink final : public record_sink {
 public:
  explicit memory_sink(std::string& into) : into_(into) {}
  std::ptrdiff_t append(std::string_view bytes) override {
    into_ += bytes;
    return static_cast<std::ptrdiff_t>(bytes.size());
  }
  int truncate(std::uint64_t length_bytes) override {
    into_.resize(length_bytes);
    return 0;
  }

 private:
  std::string& into_;
};

}  // namespace switchyard::harness
