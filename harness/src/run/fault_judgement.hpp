// SPDX-License-Identifier: Apache-2.0
// Whether ranks recorded what they had to: which fault, where, about whom, with which values, and in time.
#pragma once

#include <chrono>
#include <optional>

#include "rank_outcome.hpp"

namespace switchyard::harness {

/// Whether the rank owes no record: it has stopped, or is gone.
bool owes_no_record(const case_spec& spec, int rank);

/// Adds a finding for each record that is missing, wrong, late or not due. Of the ranks that are done.
void judge_faults(const case_evidence& evidence, finding_log& log);

/// From the later of two entries into the failed phase, this rank's and that of the rank that its record is about, to
/// the record; of a missed rank, which has no entry, from this rank's. Where the two have no clock in common, the
/// other's entry is when its header was seen, which is later by its flight; nothing where none was seen.
std::optional<std::chrono::nanoseconds> time_to_verdict(const case_evidence& evidence, int rank);

}  // namespace switchyard::harness
