// SPDX-License-Identifier: Apache-2.0
#include "comm/absence.hpp"

#include "comm/group_identity.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {

absence late(const rank_set& missing, const deadline& until) {
  return {absence_reason::late, -1, static_cast<std::uint64_t>(until.timeout().count()), missing};
}

absence gone(const rank_set& missing) { return {absence_reason::gone, -1, 0, missing}; }

void throw_absence(const absence& why, const std::string& detail) {
  if (why.reason == absence_reason::unfit) throw invalid_argument("comm backend: " + detail);
  std::string text = "comm backend: rank(s) " + names_of(why.missing);
  switch (why.reason) {
    case absence_reason::late:
      text += " did not come within " + std::to_string(why.timeout_ns / 1'000'000) + " ms";
      break;
    case absence_reason::gone: text += " ended, or cannot be reached any more"; break;
    default: text += " took part no longer"; break;
  }
  if (why.told_by >= 0) text += ", says rank " + std::to_string(why.told_by);
  if (!detail.empty()) text += "; " + detail;
  fault_record record;
  record.missing = why.missing;
  record.timeout_ns = why.timeout_ns;
  throw peer_fault(text, record);
}

}  // namespace switchyard::comm
