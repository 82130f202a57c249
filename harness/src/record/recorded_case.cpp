// SPDX-License-Identifier: Apache-2.0
// Reads the results of cases back from their records.
#include "switchyard/harness/recorded_case.hpp"

#include <charconv>
#include <limits>
#include <string_view>

#include "../scenario/json_members.hpp"

namespace switchyard::harness {
namespace {

std::string text_of(const json_at& at) {
  if (!at.value.is_string()) refuse(at, "must be a text");
  return at.value.get<std::string>();
}

template <class Integer>
Integer integer_of(const json_at& at) {
  using limits = std::numeric_limits<Integer>;
  if (at.value.is_number_unsigned()) {
    const auto number = at.value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(limits::max())) return static_cast<Integer>(number);
  } else if (at.value.is_number_integer() && limits::is_signed) {
    const auto number = at.value.get<std::int64_t>();
    if (number >= static_cast<std::int64_t>(limits::min())) return static_cast<Integer>(number);
  }
  refuse(at, "must be an integer from " + std::to_string(limits::min()) + " to " + std::to_string(limits::max()));
}

double figure_of(const json_at& at) {
  if (at.value.is_number() && at.value.get<double>() >= 0) return at.value.get<double>();
  refuse(at, "must be a number, 0 or more");
}

std::uint64_t bits_of(const json_at& at) {
  const auto text = text_of(at);
  std::uint64_t bits = 0;
  if (text.starts_with("0x")) {
    const auto* end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data() + 2, end, bits, 16);
    if (failure == std::errc{} && rest == end) return bits;
  }
  refuse(at, "must be 64 bits in hexadecimal, such as 0x1f");
}

/// The enumerator that to_string() writes so: enumerators count from 0 without gaps.
template <class Enum>
Enum word_of(const json_at& at) {
  const auto text = text_of(at);
  for (unsigned value = 0; value <= std::numeric_limits<std::uint8_t>::max(); ++value) {
    const auto candidate = static_cast<Enum>(value);
    if (to_string(candidate) == text && text != "unknown") return candidate;
  }
  refuse(at, "unknown word");
}

const json_at& list(const json_at& at) {
  require_array(at);
  return at;
}

std::optional<reference::low_precision_figures> low_precision_of(const json_at& at) {
  if (at.value.is_null()) return std::nullopt;
  require_object(at);
  return reference::low_precision_figures{integer_of<std::uint64_t>(member(at, "elements")),
                                          integer_of<std::uint64_t>(member(at, "left_out")),
                                          figure_of(member(at, "max_relative")), figure_of(member(at, "mean_relative")),
                                          figure_of(member(at, "rms_relative"))};
}

finding finding_of(const json_at& at) {
  require_object(at);
  finding found;
  found.verdict = word_of<verdict>(member(at, "verdict"));
  found.step = integer_of<int>(member(at, "step"));
  found.source = integer_of<int>(member(at, "source"));
  found.destination = integer_of<int>(member(at, "destination"));
  found.token = integer_of<std::int64_t>(member(at, "token"));
  found.row = integer_of<std::int64_t>(member(at, "row"));
  found.buffer = text_of(member(at, "buffer"));
  found.byte = integer_of<std::int64_t>(member(at, "byte"));
  found.expected = bits_of(member(at, "expected"));
  found.actual = bits_of(member(at, "actual"));
  found.count = integer_of<std::uint64_t>(member(at, "count"));
  found.detail = text_of(member(at, "detail"));
  return found;
}

std::vector<std::uint32_t> lanes_of(const json_at& at) {
  require_array(at);
  std::vector<std::uint32_t> lanes;
  for (std::size_t i = 0; i < at.value.size(); ++i) {
    const auto lane = element(at, i);
    lanes.push_back(lane.value.is_null() ? not_arrived : integer_of<std::uint32_t>(lane));
  }
  return lanes;
}

std::vector<wait_matrix> matrices_of(const json_at& at) {
  std::vector<wait_matrix> by_phase;
  if (at.value.is_null()) return by_phase;
  require_object(at);
  for (const auto which : {phase::dispatch, phase::combine}) {
    const auto rows = member(at, to_string(which));
    require_array(rows);
    auto& matrix = by_phase.emplace_back();
    for (std::size_t i = 0; i < rows.value.size(); ++i) matrix.push_back(lanes_of(element(rows, i)));
  }
  return by_phase;
}

rank_fault fault_of(const json_at& at, const json_at& timing) {
  require_object(at);
  require_object(timing);
  rank_fault fault;
  fault.rank = integer_of<int>(member(at, "rank"));
  auto& record = fault.record;
  record.code = word_of<fault_code>(member(at, "code"));
  record.field = word_of<step_field>(member(at, "field"));
  record.phase = word_of<phase>(member(timing, "phase"));
  record.epoch = integer_of<std::uint32_t>(member(timing, "epoch"));
  record.rank = integer_of<std::int32_t>(member(timing, "suspect"));
  record.expected = bits_of(member(timing, "expected"));
  record.actual = bits_of(member(timing, "actual"));
  record.timeout_ns = integer_of<std::uint64_t>(member(timing, "timeout_ns"));
  const auto notice = member(timing, "from_notice");
  if (!notice.value.is_boolean()) refuse(notice, "must be true or false");
  record.from_notice = notice.value.get<bool>() ? 1 : 0;
  record.origin = integer_of<std::int32_t>(member(timing, "origin"));
  record.awaited = word_of<awaited>(member(timing, "awaited"));
  record.waited_ns = integer_of<std::uint64_t>(member(timing, "waited_ns"));
  const auto missing = list(member(timing, "missing"));
  for (std::size_t i = 0; i < missing.value.size(); ++i) {
    const auto rank = integer_of<std::uint8_t>(element(missing, i));  // ranks are below max_ep_size, which is 256
    static_assert(max_ep_size == 256);
    insert(record.missing, rank);
  }
  if (const auto verdict = member(timing, "verdict_ns"); !verdict.value.is_null()) {
    fault.to_verdict = std::chrono::nanoseconds(integer_of<std::int64_t>(verdict));
  }
  fault.arrivals_ns = lanes_of(member(timing, "arrival_ns"));
  fault.message = text_of(member(timing, "message"));
  return fault;
}

}  // namespace

recorded_case parse_case_record(const nlohmann::json& record, const input_place& where) {
  const json_at at{record, where};
  require_object(at);
  recorded_case found;
  found.id = text_of(member(at, "id"));
  found.seed = integer_of<std::uint64_t>(member(at, "seed"));
  auto& result = found.result;
  result.status = word_of<case_status>(member(at, "status"));
  result.reason = text_of(member(at, "reason"));
  result.transport = text_of(member(at, "transport"));
  result.checked_bytes = integer_of<std::uint64_t>(member(at, "checked_bytes"));
  result.results_digest = bits_of(member(at, "results_digest"));
  result.remote_bytes = integer_of<std::uint64_t>(member(at, "remote_bytes"));
  result.returned_bytes = integer_of<std::uint64_t>(member(at, "returned_bytes"));
  result.wire_bytes_max_rank = integer_of<std::uint64_t>(member(at, "wire_bytes_max_rank"));
  result.low_precision_error = low_precision_of(member(at, "low_precision_error"));
  result.total_findings = integer_of<std::uint64_t>(member(at, "total_findings"));
  const auto findings = list(member(at, "findings"));
  for (std::size_t i = 0; i < findings.value.size(); ++i) result.findings.push_back(finding_of(element(findings, i)));

  const auto timing = member(at, "time");
  require_object(timing);
  found.elapsed = std::chrono::nanoseconds(integer_of<std::int64_t>(member(timing, "elapsed_ns")));
  const auto dispatch = list(member(timing, "dispatch_ns"));
  const auto combine = list(member(timing, "combine_ns"));
  if (dispatch.value.size() != combine.value.size()) refuse(combine.place, "", "must be as long as dispatch_ns");
  for (std::size_t i = 0; i < dispatch.value.size(); ++i) {
    result.times.push_back(
        {integer_of<std::int64_t>(element(dispatch, i)), integer_of<std::int64_t>(element(combine, i))});
  }
  result.arrivals_ns = matrices_of(member(timing, "arrival_ns"));
  const auto faults = list(member(at, "faults"));
  const auto fault_times = list(member(timing, "faults"));
  if (faults.value.size() != fault_times.value.size()) refuse(fault_times.place, "", "must be as long as /faults");
  for (std::size_t i = 0; i < faults.value.size(); ++i) {
    result.faults.push_back(fault_of(element(faults, i), element(fault_times, i)));
  }
  return found;
}

}  // namespace switchyard::harness
