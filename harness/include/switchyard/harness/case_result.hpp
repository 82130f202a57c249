// SPDX-License-Identifier: Apache-2.0
// What a case found. Plain data, written to records and printed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/reference/low_precision_combine.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::harness {

enum class case_status : std::uint8_t { pass, fail, crash, timeout, device_lost, skipped, waived, missing };

/// What kind of wrong a difference is.
enum class verdict : std::uint8_t {
  loss,          ///< a row that must be there was never written (poison, or padding, in its place)
  duplication,   ///< a row of this step is in its place and also where it must not be
  misplacement,  ///< a row of this step in the place of another
  stale,         ///< a row or value of an earlier step
  corruption,    ///< the right row with wrong bytes, or bytes that belong to nothing known
  overrun,       ///< a guard or canary was written, or a byte that must stay poison was changed
  wrong_count,   ///< recv_counts differs from the golden model
  bad_padding,   ///< a row that holds no token has an id other than invalid_expert_id
  wrong_sum,     ///< combine's output differs
  wrong_fault,   ///< a fault where none was due, none where one was due, or one that names the wrong thing
};

/// One difference with its coordinates; -1 where one does not apply.
struct finding {
  harness::verdict verdict = verdict::corruption;
  int step = -1;
  int source = -1;
  int destination = -1;
  std::int64_t token = -1;     ///< at the source
  std::int64_t row = -1;       ///< in the destination's buffer
  std::string buffer = {};     ///< hidden_states, topk_ids, ..., output, recv_counts, or a region's name
  std::int64_t byte = -1;      ///< first differing byte of the row or buffer
  std::uint64_t expected = 0;  ///< bits of the element or value around `byte`
  std::uint64_t actual = 0;
  std::uint64_t count = 1;  ///< how many bytes (or rows, for whole rows) differ
  std::string detail = {};  ///< what else is known: "row of token 7 of rank 2 in step 3"
};

struct rank_fault {
  int rank = -1;
  fault_record record;
  std::string message;
  std::optional<std::chrono::nanoseconds> to_verdict = {};  ///< from the later of two entries into the phase
  std::vector<std::uint32_t> arrivals_ns =
      {};  ///< of each peer's header, since the entry into the phase; or not_arrived
};

/// Lanes by rank, of each peer.
using wait_matrix = std::vector<std::vector<std::uint32_t>>;

/// Times of one step, nanoseconds, max over ranks, on the host fabric's clock: never a claim about NVLink.
struct step_time {
  std::int64_t dispatch_ns = 0;
  std::int64_t combine_ns = 0;
};

struct case_result {
  case_status status = case_status::pass;
  std::string reason;             ///< one line, empty for a pass
  std::vector<finding> findings;  ///< at most max_findings, first ones
  std::uint64_t total_findings = 0;
  std::vector<rank_fault> faults;  ///< of the ranks that recorded one, by rank
  std::vector<step_time> times;    ///< one per step that ended
  /// Of the last step, by phase: how long after its own entry each rank saw the header of each peer that it waited for.
  /// Empty unless every step has ended.
  std::vector<wait_matrix> arrivals_ns;
  std::uint64_t checked_bytes = 0;        ///< bytes compared with the golden model
  std::uint64_t results_digest = 0;       ///< of rows received and sums, whoever moved them; 0 where a fault is due
  std::uint64_t remote_bytes = 0;         ///< dispatch payload bytes to other ranks, all ranks and steps
  std::uint64_t returned_bytes = 0;       ///< expert outputs to other ranks in combine, the same, in their format
  std::uint64_t wire_bytes_max_rank = 0;  ///< per step mean of max over ranks of max(send, receive) remote bytes
  /// Of all results, against sums in fp32; where the case combines in low precision and no fault is due.
  std::optional<reference::low_precision_figures> low_precision_error;
  std::string transport;  ///< taken by steps: fence, lamport or fence+lamport
};

inline constexpr std::size_t max_findings = 16;

std::string_view to_string(case_status status) noexcept;
std::string_view to_string(verdict which) noexcept;
/// One line: verdict, step, source, destination, buffer, row, token, byte, both values and bit patterns, count.
std::string describe(const finding& found);
/// One line: code, phase, what disagrees, which ranks to look at. Leaves out what varies from run to run (times waited,
/// who saw it first).
std::string describe(const recorded_fault& record);

}  // namespace switchyard::harness
