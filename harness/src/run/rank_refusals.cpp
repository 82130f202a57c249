// SPDX-License-Identifier: Apache-2.0
// Cases whose workspaces are too small for what the steps bring: every dispatch must be refused, and nothing may come
// of it.
#include <stdexcept>
#include <string>
#include <vector>

#include "rank_runner.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

/// What a refusal must say: what does not fit, how much of it is needed, and how much there is room for.
struct due_refusal {
  std::string field;
  std::size_t needed = 0;
  std::size_t given = 0;
};

due_refusal refusal_of(const case_spec& spec) {
  const auto room = workspace_params_of(spec).dispatch_bytes();
  const auto config = config_of(spec);
  switch (spec.lacks) {
    case lacking_room::nothing: break;
    case lacking_room::hidden_states:
      return {"hidden_states.row_bytes", payload_row_bytes(spec, payload_kind::hidden_states), room.hidden_states};
    case lacking_room::hidden_states_scale:
      return {"hidden_states_scale.row_bytes", payload_row_bytes(spec, payload_kind::hidden_states_scale),
              room.hidden_states_scale};
    case lacking_room::extra: return {"extra.row_bytes", spec.extra_bytes, config.extra_payload_bytes_per_token};
    case lacking_room::eplb_stats:
      return {"eplb_local_stats.size()", static_cast<std::size_t>(spec.eplb_stats),
              static_cast<std::size_t>(config.eplb_stats_num_experts)};
  }
  return {};
}

void check_refusal(const due_refusal& due, const std::string& told) {
  const bool names_both = told.find(due.field + " is " + std::to_string(due.needed) + ",") != std::string::npos &&
                          told.find(" " + std::to_string(due.given) + " ") != std::string::npos;
  if (names_both) return;
  const auto rule = "must be refused for " + due.field + ", of which " + std::to_string(due.needed) +
                    " are needed and " + std::to_string(due.given) + " fit";
  throw std::runtime_error("dispatch " + rule + (told.empty() ? ", but was not" : ", but was for: " + told));
}

}  // namespace

void rank_runner::run_refused() {
  const auto now = [this] {
    std::vector<std::byte> bytes(here_.bytes);
    device_->read(bytes.data(), here_.data, bytes.size());
    return bytes;
  };
  const auto before = now();
  // A peer whose dispatch is not refused stores here at once, and a rank that has found that aborts.
  meet();
  for (int step = 0; step < spec_.steps; ++step) {
    const step_inputs* inputs = state_.ring.acquire(step);
    if (inputs == nullptr) return;
    const auto declared = declared_by(spec_, inputs->plan(), rank_);
    const auto given = arguments(*inputs);
    const auto options = options_for(declared, inputs->statistics(rank_));
    std::string told;
    try {
      (void)here_.exchange->dispatch(given, options, device_->stream());
    } catch (const invalid_argument& refusal) {
      told = refusal.what();
    }
    check_refusal(refusal_of(spec_), told);
    device_->synchronize();
    if (here_.exchange->status()) throw std::runtime_error("a dispatch that was refused has left a fault");
    if (now() != before) throw std::runtime_error("a dispatch that was refused has left something in the workspace");
    outcome_.checked_bytes += before.size();
    outcome_.refused_steps = step + 1;
    state_.ring.finish(rank_, step);
  }
}

}  // namespace switchyard::harness
