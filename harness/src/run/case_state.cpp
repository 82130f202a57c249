// SPDX-License-Identifier: Apache-2.0
// Setting a case up: options, memory, meeting points.
#include "case_state.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "running_case.hpp"
#include "switchyard/harness/case_layers.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

// The first step also waits for threads to be started; on a busy machine that takes more than a short timeout allows.
constexpr std::chrono::nanoseconds least_warmup = 10s;

}  // namespace

void abort_quietly(one_sided_all_to_all& end, const std::string& reason) noexcept {
  try {
    end.abort(reason);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what failed shows where the rank waits for it
  }
}

one_sided_config config_of(const case_spec& spec) {
  one_sided_config config;
  config.extra_payload_bytes_per_token = spec.extra_bytes;
  config.eplb_stats_num_experts = spec.eplb_stats;
  if (spec.lacks == lacking_room::extra) --config.extra_payload_bytes_per_token;
  if (spec.lacks == lacking_room::eplb_stats) --config.eplb_stats_num_experts;
  config.timeout = spec.timeout;
  // A rank that does not come in the very first step must be missed after `timeout`, not after the warm-up.
  const bool missed_at_once =
      spec.inject && spec.inject->step == 0 && (spec.inject->ends_rank() || spec.expected_fault == fault_code::timeout);
  config.warmup_timeout = missed_at_once ? config.timeout : std::max(config.timeout, least_warmup);
  if (spec.warmup_timeout.count() != 0) config.warmup_timeout = spec.warmup_timeout;
  config.lamport = spec.lamport;
  config.lamport_max_tokens = spec.lamport_max_tokens;
  config.enable_rank_mask = spec.enable_rank_mask;
  config.low_precision_combine = spec.low_precision_combine;
  config.max_blocks = spec.blocks;
  return config;
}

comm_params workspace_params_of(const case_spec& spec) {
  auto params = spec.params;
  if (spec.lacks == lacking_room::hidden_states) params.dispatch_format = dispatch_format::mxfp4;
  // As many bytes of hidden states as any format with scales has, and none for these.
  if (spec.lacks == lacking_room::hidden_states_scale) params.dispatch_format = dispatch_format::fp8;
  return params;
}

std::size_t output_bytes(const case_spec& spec) {
  return static_cast<std::size_t>(spec.num_tokens) * static_cast<std::size_t>(spec.params.hidden_size) *
         itemsize(spec.params.dtype);
}

std::size_t expert_output_bytes(const case_spec& spec) {
  return static_cast<std::size_t>(spec.ep_size) * static_cast<std::size_t>(largest_tokens_per_rank(spec)) *
         static_cast<std::size_t>(spec.params.hidden_size) * itemsize(spec.params.dtype);
}

std::size_t required_bytes(const case_spec& spec, int ranks_here, bool with_workspaces) {
  const std::size_t page = page_bytes();
  const auto config = config_of(spec);
  const std::size_t workspace = workspace_bytes(workspace_params_of(spec), config, spec.ep_size);
  const std::size_t aligned = (workspace + page - 1) / page * page + page;  // and a page lost to its alignment
  // Which lies in pages of its own instead of the arena.
  const std::size_t beside =
      spec.side_workspace_every > 0 ? workspace_bytes(side_params_of(spec), config, spec.ep_size) : 0;
  const std::size_t of_rank = (with_workspaces ? aligned + (beside + page - 1) / page * page : 0) +
                              fenced_buffer::footprint(output_bytes(spec)) +
                              fenced_buffer::footprint(expert_output_bytes(spec));
  const std::size_t trace = spec.trace ? spec.trace->bytes() : 0;
  const std::size_t total = static_cast<std::size_t>(ranks_here) * of_rank + step_ring::footprint(spec) + trace;
  return (total + page - 1) / page * page;
}

std::size_t required_bytes(const case_spec& spec) { return required_bytes(spec, spec.ep_size, true); }

std::optional<std::string> problem_of(const case_spec& spec) {
  const auto must = [](const char* field, std::int64_t value, const std::string& rule) {
    return "case: " + std::string(field) + " is " + std::to_string(value) + ", must be " + rule;
  };
  const auto largest = spec.params.max_tokens_per_rank;
  const auto stride = largest_tokens_per_rank(spec);
  if (spec.steps < 1) return must("steps", spec.steps, "at least 1");
  if (spec.lamport_max_tokens < 1) return must("lamport_max_tokens", spec.lamport_max_tokens, "at least 1");
  if (spec.num_tokens < 0 || spec.num_tokens > largest) {
    return must("num_tokens", spec.num_tokens, "0 .. max_tokens_per_rank, which is " + std::to_string(largest));
  }
  if (stride < std::max<std::int64_t>(1, spec.num_tokens) || stride > largest) {
    return must("runtime_max_tokens", stride,
                "max(1, num_tokens) .. max_tokens_per_rank, which is " + std::to_string(largest));
  }
  if (spec.token_counts && (!spec.token_counts->fits(spec.ep_size) || spec.variation == step_variation::vary)) {
    return "case: token_counts must have one count a step or one for each rank, and variation must be fixed";
  }
  if (spec.token_counts && spec.token_counts->largest() != spec.num_tokens) {
    return must("num_tokens", spec.num_tokens, "the largest count, " + std::to_string(spec.token_counts->largest()));
  }
  if ((spec.routing == routing_law::trace) != (spec.trace != nullptr)) {
    return "case: routing trace and a trace must come together";
  }
  if (spec.trace && (spec.trace->about().top_k != spec.params.top_k || spec.trace->about().ranks > spec.ep_size ||
                     spec.trace->largest_num_tokens() != spec.num_tokens)) {
    return "case: top_k, ranks and num_tokens must be those of the trace";
  }
  if (!spec.padding_rows.fits(spec.ep_size)) {
    return "case: padding_rows must have one count a step or one for each rank";
  }
  if (spec.invalid_percent < 0 || spec.invalid_percent > 100) {
    return must("invalid_percent", spec.invalid_percent, "0 .. 100");
  }
  if (spec.masked_from && !spec.masked_from->fits(spec.ep_size)) {
    return "case: masked_from must have one count, or one for each rank";
  }
  if (spec.inject && (spec.inject->rank < 0 || spec.inject->rank >= spec.ep_size)) {
    return must("inject.rank", spec.inject->rank, "a rank of the group, 0 .. " + std::to_string(spec.ep_size - 1));
  }
  if (spec.inject && (spec.inject->step < 0 || spec.inject->step >= spec.steps)) {
    return must("inject.step", spec.inject->step, "a step of the case, 0 .. " + std::to_string(spec.steps - 1));
  }
  if (spec.layers < 1) return must("layers", spec.layers, "at least 1");
  if (spec.inject && spec.ep_size < 2) return must("ep_size", spec.ep_size, "at least 2 when a rank errs");
  return std::nullopt;
}

case_state::case_state(const case_spec& which, const run_options& how, arena& from)
    : spec(which),
      options(how),
      memory(from),
      config(config_of(which)),
      ring(which, how.seed, from),
      rows(which, how.seed),
      group(how.group ? how.group : make_thread_group(which.ep_size)),
      live(static_cast<std::size_t>(which.ep_size), nullptr),
      outcomes(static_cast<std::size_t>(which.ep_size)) {
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    if (!group->is_here(rank)) {
      outputs.emplace_back();
      expert_outputs.emplace_back();
      ring.leave(rank);
      continue;
    }
    outputs.emplace_back(memory, output_bytes(spec));
    auto& rows_of_rank = expert_outputs.emplace_back(memory, expert_output_bytes(spec));
    rows_of_rank.resize(rows_of_rank.capacity());
    std::memset(rows_of_rank.data(), expert_poison, rows_of_rank.bytes());
    outcome(rank).times.resize(static_cast<std::size_t>(spec.steps));
  }
}

case_evidence case_state::evidence() const {
  const auto machine = options.machine;
  return {spec, options.seed, outcomes, ring.traffic(), machine != nullptr, [machine](int rank, int other) {
            return machine == nullptr || machine->one_clock(rank, other);
          }};
}

void case_state::pause(std::chrono::nanoseconds length) {
  std::unique_lock lock(mutex);
  when_called_off.wait_for(lock, length, [this] { return called_off; });
}

void case_state::call_off(const std::string& reason) {
  ring.stop();
  for (const auto where : {meeting_point::before_construction, meeting_point::after_construction,
                           meeting_point::before_recovery, meeting_point::after_recovery}) {
    group->call_off(where);
  }
  const std::lock_guard lock(mutex);  // a rank takes itself out of `live` before it destroys its end
  called_off = true;
  when_called_off.notify_all();
  for (auto* end : live) {
    if (end != nullptr) abort_quietly(*end, reason);
  }
}

}  // namespace switchyard::harness
