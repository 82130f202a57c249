// SPDX-License-Identifier: Apache-2.0
// Cases and results made by hand, for tests of what is done with them.
#pragma once

#include <string>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

inline case_spec sample_spec(const std::string& scenario, const std::string& settings) {
  case_spec spec;
  spec.suite = "u";
  spec.name = scenario;
  spec.id = "u/" + scenario + "@" + settings;
  spec.tags = {"quick"};
  spec.ep_size = 2;
  spec.params = {10, 4, 16, 64};
  spec.num_tokens = 16;
  return spec;
}

inline case_result sample_pass(std::int64_t dispatch_ns, std::int64_t combine_ns) {
  case_result result;
  result.times = {{dispatch_ns, combine_ns}, {dispatch_ns / 2, combine_ns / 2}};
  result.checked_bytes = 1'000'000;
  result.results_digest = 0xFEDC'BA98'7654'3210U;
  result.remote_bytes = 300'000;
  result.returned_bytes = 290'000;
  result.wire_bytes_max_rank = 100'000;
  result.transport = "fence";
  return result;
}

inline case_result sample_fail() {
  auto result = sample_pass(10, 10);
  result.status = case_status::fail;
  result.reason = "1 finding";
  finding found;
  found.verdict = verdict::stale;
  found.step = 1;
  found.source = 0;
  found.destination = 1;
  found.token = 7;
  found.row = 3;
  found.buffer = "hidden_states";
  found.byte = 12;
  found.expected = 0x8000'0000'0000'0001U;
  found.actual = 2;
  found.count = 5;
  found.detail = "row of step 0";
  result.findings = {found};
  result.total_findings = 4;
  rank_fault fault;
  fault.rank = 1;
  fault.record.code = fault_code::timeout;
  fault.record.phase = phase::combine;
  fault.record.rank = 0;
  fault.record.origin = 1;
  fault.record.epoch = 9;
  fault.record.waited_ns = 201'000'000;
  fault.record.timeout_ns = 200'000'000;
  insert(fault.record.missing, 0);
  insert(fault.record.missing, 65);
  fault.to_verdict = std::chrono::milliseconds(201);
  fault.arrivals_ns = {not_arrived, 1'200};
  fault.message = "rank 1 waited 201 ms for rank 0";
  result.faults = {fault};
  return result;
}

}  // namespace switchyard::harness
