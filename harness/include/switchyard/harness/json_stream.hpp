// SPDX-License-Identifier: Apache-2.0
// A run as JSON lines while it happens: the same lines as in the records, for programs that read along.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "switchyard/harness/run_observer.hpp"

namespace switchyard::harness {

/// Writes header, cases and errors to `out`, each line as a whole; what people should read of it goes to `people` too.
class json_stream final : public run_observer {
 public:
  json_stream(std::ostream& out, std::ostream& people) : out_(out), people_(people) {}

  void line(std::string_view text) { out_ << text << std::endl; }
  void case_ended(const case_spec&, const case_result&, const case_record& record) override { line(record.line); }
  void note(const std::string& text) override;

 private:
  std::ostream& out_;
  std::ostream& people_;
};

}  // namespace switchyard::harness
