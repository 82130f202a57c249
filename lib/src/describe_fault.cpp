// SPDX-License-Identifier: Apache-2.0
#include "describe_fault.hpp"

namespace switchyard {
namespace {

/// "rank(s) 3, 5", or nothing for no ranks.
std::string list_of(const rank_set& ranks) {
  std::string listed;
  for (int rank = 0; rank < max_ep_size; ++rank) {
    if (contains(ranks, rank)) listed += (listed.empty() ? "rank(s) " : ", ") + std::to_string(rank);
  }
  return listed;
}

/// How the masks differ that the record is about.
std::string mask_text(const recorded_fault& record) {
  const auto missing = list_of(record.only_expected);
  const auto surplus = list_of(record.only_actual);
  const bool own = record.code == fault_code::bad_mask;
  std::string text;
  if (!surplus.empty()) text += own ? " has " + surplus + " which must not be there" : " there has " + surplus;
  if (!missing.empty()) text += (text.empty() ? "" : ",") + std::string(own ? " lacks " : " here has ") + missing;
  return text;
}

std::string field_text(const recorded_fault& record) {
  auto text = ", " + std::string(to_string(record.field));
  if (record.from_notice != 0) return text;
  const auto of_masks = mask_text(record);
  if (!of_masks.empty()) return text + of_masks;
  text += " is " + std::to_string(record.actual) + " there and " + std::to_string(record.expected) + " here";
  if (record.code == fault_code::mask_changed) text += " as hashes, the other mask was not told";
  return text;
}

}  // namespace

std::string describe(const recorded_fault& record) {
  std::string text = std::string(to_string(record.phase)) + " of epoch " + std::to_string(record.epoch) +
                     " failed: " + std::string(to_string(record.code));
  if (record.rank >= 0) text += ", rank " + std::to_string(record.rank);
  if (record.field != step_field::none) {
    text += field_text(record);
  } else if (record.code == fault_code::out_of_order) {
    text += ", phase due is " + std::string(to_string(static_cast<phase>(record.expected)));
  }
  if (record.code == fault_code::timeout && record.from_notice == 0) {
    text += ", waited " + std::to_string(record.waited_ns / 1'000'000) + " ms for its " +
            std::string(to_string(record.awaited));
  }
  if (const auto missing = list_of(record.missing); !missing.empty()) text += ", nothing complete from " + missing;
  if (record.from_notice != 0) text += ", told by rank " + std::to_string(record.origin);
  return text;
}

}  // namespace switchyard
