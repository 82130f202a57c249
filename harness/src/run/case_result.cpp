// SPDX-License-Identifier: Apache-2.0
// Words and lines for results.
#include "switchyard/harness/case_result.hpp"

#include <cstdio>

namespace switchyard::harness {
namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void append(std::string& line, std::string_view name, std::int64_t value) {
  if (value >= 0) line.append(", ").append(name).append(" ").append(std::to_string(value));
}

}  // namespace

std::string_view to_string(case_status status) noexcept {
  switch (status) {
    case case_status::pass: return "pass";
    case case_status::fail: return "fail";
    case case_status::crash: return "crash";
    case case_status::timeout: return "timeout";
    case case_status::device_lost: return "device_lost";
    case case_status::skipped: return "skipped";
    case case_status::waived: return "waived";
    case case_status::missing: return "missing";
  }
  return "unknown";
}

std::string_view to_string(verdict which) noexcept {
  switch (which) {
    case verdict::loss: return "loss";
    case verdict::duplication: return "duplication";
    case verdict::misplacement: return "misplacement";
    case verdict::stale: return "stale";
    case verdict::corruption: return "corruption";
    case verdict::overrun: return "overrun";
    case verdict::wrong_count: return "wrong_count";
    case verdict::bad_padding: return "bad_padding";
    case verdict::wrong_sum: return "wrong_sum";
    case verdict::wrong_fault: return "wrong_fault";
  }
  return "unknown";
}

std::string describe(const finding& found) {
  std::string line(to_string(found.verdict));
  line += ":";
  std::string where;
  append(where, "step", found.step);
  append(where, "source", found.source);
  append(where, "destination", found.destination);
  if (!found.buffer.empty()) where += ", buffer " + found.buffer;
  append(where, "row", found.row);
  append(where, "token", found.token);
  append(where, "byte", found.byte);
  if (!where.empty()) line += where.substr(1);
  if (found.byte >= 0 || found.expected != found.actual) {
    line += "; expected " + std::to_string(found.expected) + " (" + hex(found.expected) + "), got " +
            std::to_string(found.actual) + " (" + hex(found.actual) + ")";
  }
  line += "; count " + std::to_string(found.count);
  if (!found.detail.empty()) line += "; " + found.detail;
  return line;
}

std::string describe(const recorded_fault& record) {
  std::string line(to_string(record.code));
  line += " in ";
  line += to_string(record.phase);
  if (record.field != step_field::none) {
    line.append(", ").append(to_string(record.field)).append(": expected ").append(std::to_string(record.expected));
    line.append(", got ").append(std::to_string(record.actual));
  }
  append(line, "rank", record.rank);
  const auto append_ranks = [&line](std::string_view what, const rank_set& ranks) {
    std::string listed;
    for (int rank = 0; rank < max_ep_size; ++rank) {
      if (contains(ranks, rank)) listed.append(" ").append(std::to_string(rank));
    }
    if (!listed.empty()) line.append(", ").append(what).append(listed);
  };
  append_ranks("ranks in the expected mask only:", record.only_expected);
  append_ranks("ranks in the other mask only:", record.only_actual);
  append_ranks("missing ranks:", record.missing);
  return line;
}

}  // namespace switchyard::harness
