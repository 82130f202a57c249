// SPDX-License-Identifier: Apache-2.0
// Compares what a rank holds after dispatch and after combine with the golden model, byte for byte, and says what kind
// of wrong a difference is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/rank_inputs.hpp"
#include "switchyard/harness/row_index.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/reference/low_precision_combine.hpp"

namespace switchyard::harness {

/// How many earlier steps a wrong row is looked for in.
inline constexpr int remembered_steps = 3;

/// Collects findings: the first max_findings are kept, all are counted.
class finding_log {
 public:
  void add(finding found);
  void count_only(std::uint64_t more) noexcept { total_ += more; }
  /// Nothing more will be kept, so a difference need not be explained.
  [[nodiscard]] bool full() const noexcept { return kept_.size() >= max_findings; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::span<const finding> kept() const noexcept { return kept_; }

 private:
  std::vector<finding> kept_;
  std::uint64_t total_ = 0;
};

/// How many rows of a payload differ from what was sent, and the first of them.
struct row_verdict {
  std::uint64_t wrong = 0;
  std::int64_t first = -1;
  friend bool operator==(const row_verdict&, const row_verdict&) = default;
};

/// Checks one rank of a case. Not thread-safe; a rank's checks follow one another on its stream.
class rank_verifier {
 public:
  /// `rows` is shared by the ranks of the case and outlives the verifier.
  rank_verifier(const case_spec& spec, int rank, row_index& rows);

  /// After dispatch: counts, gathered statistics, every received row of every payload, the ids of rows that hold no
  /// token.
  void check_dispatch(const step_inputs& inputs, const dispatch_result& views, finding_log& log);

  /// After combine: `output` holds n rows of h elements, compared with the golden sums of the ranks' inputs. Memory
  /// that combine did not write still has `poison_byte(step)`.
  void check_output(const step_inputs& inputs, const std::byte* output, finding_log& log);

  /// After a faulted dispatch: every id is invalid_expert_id, every count and statistic 0; a single finding if not.
  void check_faulted_dispatch(const step_inputs& inputs, const dispatch_result& views, finding_log& log);

  /// After a faulted combine: every element of the n output rows is a NaN; a single finding if not.
  void check_faulted_output(const step_inputs& inputs, const std::byte* output, finding_log& log);

  /// What was seen of the fences round a buffer of this rank with `bytes` in use; `name` is the buffer's.
  void check_fence(int step, std::string_view name, std::size_t bytes, const std::optional<canary_damage>& damage,
                   finding_log& log);

  /// Bytes compared with the golden model so far.
  [[nodiscard]] std::uint64_t checked_bytes() const noexcept { return checked_bytes_; }
  /// What check_dispatch() last found of the rows that hold tokens, in the order of all_payloads.
  using row_verdicts = std::array<row_verdict, all_payloads.size()>;
  [[nodiscard]] const row_verdicts& rows_of_last_dispatch() const noexcept { return last_rows_; }
  /// Of the rows and sums as they were found, not as they should have been; those of the ranks are to be added up.
  [[nodiscard]] std::uint64_t results_digest() const noexcept { return results_digest_; }
  /// Of the golden sums so far, where they are in low precision.
  [[nodiscard]] const reference::low_precision_error& low_precision_error() const noexcept {
    return low_precision_error_;
  }

 private:
  void digest_row(int step, std::size_t buffer, std::int64_t row, std::span<const std::byte> bytes) noexcept;
  void check_counts(const step_inputs& inputs, const dispatch_result& views, finding_log& log);
  void check_padding(const step_inputs& inputs, const dispatch_result& views, std::int64_t row, finding_log& log);
  [[nodiscard]] finding explain_row(const step_inputs& inputs, payload_kind kind, const rows_view& view,
                                    std::int64_t row, std::int64_t token);
  void check_statistics(const step_inputs& inputs, const dispatch_result& views, finding_log& log);
  void explain_origin(const step_inputs& inputs, payload_kind kind, const rows_view& view, finding& found);
  void expected_output(const step_inputs& inputs, std::int64_t token, std::byte* out);
  void explain_output(const step_inputs& inputs, std::int64_t token, const std::byte* actual, finding_log& log);

  case_spec spec_;
  int rank_;
  row_index& rows_;
  std::uint64_t checked_bytes_ = 0;
  std::uint64_t results_digest_ = 0;
  reference::low_precision_error low_precision_error_;
  row_verdicts last_rows_{};
  std::vector<std::byte> expert_rows_;           // scratch: one row for each owner of a token
  std::vector<std::byte> expected_;              // scratch: one output row
  std::vector<const std::byte*> rows_of_token_;  // those of the token that expected_output() was last asked for
  /// The gathered statistics of the last steps, the newest first.
  std::array<std::vector<std::int32_t>, 1 + remembered_steps> statistics_;
  /// Hashes of the expected output rows of the last steps, the newest first.
  std::array<std::vector<std::uint64_t>, 1 + remembered_steps> output_hashes_;
};

/// The view of one payload in a result.
const rows_view& view_of(const dispatch_result& views, payload_kind kind) noexcept;

}  // namespace switchyard::harness
