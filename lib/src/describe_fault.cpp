// SPDX-License-Identifier: Apache-2.0
#include "describe_fault.hpp"

namespace switchyard {

std::string describe(const fault_record& record) {
  std::string text = std::string(to_string(record.phase)) + " of epoch " + std::to_string(record.epoch) +
                     " failed: " + std::string(to_string(record.code));
  if (record.rank >= 0) text += ", rank " + std::to_string(record.rank);
  if (record.field != step_field::none) {
    text += ", " + std::string(to_string(record.field));
    if (record.from_notice == 0) {
      text += " is " + std::to_string(record.actual) + " there and " + std::to_string(record.expected) + " here";
    }
  } else if (record.code == fault_code::out_of_order) {
    text += ", phase due is " + std::string(to_string(static_cast<phase>(record.expected)));
  }
  if (record.code == fault_code::timeout && record.from_notice == 0) {
    text += ", waited " + std::to_string(record.waited_ns / 1'000'000) + " ms for its " +
            std::string(to_string(record.awaited));
  }
  std::string missing;
  for (int rank = 0; rank < max_ep_size; ++rank) {
    if (contains(record.missing, rank)) missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (!missing.empty()) text += ", nothing complete from rank(s) " + missing;
  if (record.from_notice != 0) text += ", told by rank " + std::to_string(record.origin);
  return text;
}

}  // namespace switchyard
