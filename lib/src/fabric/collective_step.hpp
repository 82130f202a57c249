// SPDX-License-Identifier: Apache-2.0
// A local action whose failure on one rank must be everybody's: it succeeds on all ranks or throws on all.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "fabric/rank_meeting.hpp"

namespace switchyard {

enum class step_outcome : std::uint32_t { ready, unsupported, out_of_memory, state_error, cuda_error };

/// How a step ended on one rank; plain bytes.
struct step_verdict {
  step_outcome outcome = step_outcome::ready;
  std::array<char, 236> reason{};  ///< ends with 0
};

/// Runs `action`; an exception becomes a verdict.
step_verdict judge(const std::function<void()>& action);

/// Throws what the first failed rank threw, naming all failed ranks and their reasons; nothing when all are ready.
/// Verdicts are by place in the meeting.
void throw_unless_ready(const rank_meeting& meeting, const std::vector<step_verdict>& verdicts);

/// What a step gives when there is nothing to tell.
struct nothing {};

/// Collective: runs `action`, which returns this rank's value, and returns every rank's value, by place in the meeting.
/// Throws on every rank when any rank's action has thrown; peer_fault as the backend does.
template <class Value>
std::vector<Value> collective_step(const rank_meeting& meeting, const std::function<Value()>& action) {
  static_assert(std::is_trivially_copyable_v<Value>);
  struct part {
    step_verdict verdict;
    Value value{};
  };
  part mine;
  mine.verdict = judge([&] { mine.value = action(); });
  std::vector<part> all(meeting.ranks().size());
  meeting.backend().allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                              meeting.remaining());
  std::vector<step_verdict> verdicts;
  std::vector<Value> values;
  for (const auto& each : all) {
    verdicts.push_back(each.verdict);
    values.push_back(each.value);
  }
  throw_unless_ready(meeting, verdicts);
  return values;
}

}  // namespace switchyard
