// SPDX-License-Identifier: Apache-2.0
#include "fabric/collective_step.hpp"

#include <algorithm>
#include <string_view>

#include "switchyard/spec/errors.hpp"

namespace switchyard {

step_verdict judge(const std::function<void()>& action) {
  step_verdict verdict;
  const auto keep = [&](step_outcome outcome, std::string_view reason) {
    verdict.outcome = outcome;
    std::copy_n(reason.begin(), std::min(reason.size(), verdict.reason.size() - 1), verdict.reason.begin());
  };
  try {
    action();
  } catch (const unsupported& e) {
    keep(step_outcome::unsupported, e.what());
  } catch (const out_of_memory& e) {
    keep(step_outcome::out_of_memory, e.what());
  } catch (const state_error& e) {
    keep(step_outcome::state_error, e.what());
  } catch (const peer_fault& e) {  // of this rank alone; to the others it is a state that they cannot use
    keep(step_outcome::state_error, e.what());
  } catch (const std::bad_alloc&) {
    keep(step_outcome::out_of_memory, "host memory for the library's own tables could not be had");
  } catch (const std::exception& e) {
    keep(step_outcome::cuda_error, e.what());
  }
  return verdict;
}

void throw_unless_ready(const rank_meeting& meeting, const std::vector<step_verdict>& verdicts) {
  auto first = step_outcome::ready;
  std::string message;
  for (std::size_t place = 0; place < verdicts.size(); ++place) {
    if (verdicts[place].outcome == step_outcome::ready) continue;
    if (first == step_outcome::ready) first = verdicts[place].outcome;
    message += message.empty() ? meeting.call() + ": rank " : "; rank ";
    message += std::to_string(meeting.ranks()[place]) + ": " + verdicts[place].reason.data();
  }
  switch (first) {
    case step_outcome::ready: return;
    case step_outcome::unsupported: throw unsupported(message);
    case step_outcome::out_of_memory: throw out_of_memory(message);
    case step_outcome::state_error: throw state_error(message);
    case step_outcome::cuda_error: throw cuda_error(message);
  }
}

}  // namespace switchyard
