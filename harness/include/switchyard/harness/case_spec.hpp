// SPDX-License-Identifier: Apache-2.0
// One fully resolved case: a point of a scenario's sweep, ready to run. Plain data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/config.hpp"
#include "switchyard/harness/case_choices.hpp"
#include "switchyard/harness/routing_trace.hpp"
#include "switchyard/harness/step_counts.hpp"
#include "switchyard/reference/simulated_expert.hpp"
#include "switchyard/spec/faults.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {

inline constexpr int most_expert_groups = 256;  ///< as many as there can be ranks

inline constexpr int most_layers = 256;

/// What the routing laws need besides their name.
struct routing_parameters {
  int zipf_exponent_percent = 100;  ///< s in hundredths, 0..1000
  int hot_percent = 100;            ///< share of tokens that follow hot_rank or hot_expert; the rest are uniform
  int hot_rank = 0;
  std::int64_t hot_expert = 0;
  int expert_groups = 8;  ///< groups of neighbours, as even as can be: the first num_experts mod groups have one more
  int groups_per_token = 4;  ///< of which a token's experts come
};

/// A rank that is slow: before each phase of each step, one rank sleeps up to `at_most`.
struct lateness {
  std::chrono::microseconds at_most{0};
  std::optional<int> rank;  ///< which one; none: drawn anew each time
};

/// What one rank does wrong in `phase` of `step`; what its peers must make of it follows (fault_judgement.hpp).
struct injected_fault {
  int rank = 0;
  int step = 0;
  switchyard::phase phase = switchyard::phase::dispatch;
  fault_kind kind = fault_kind::stop;
  step_field field = step_field::none;  ///< of disagree; of corrupt, where none is the digest alone
  std::chrono::milliseconds late{0};    ///< of late

  /// Whether the rank goes no further.
  [[nodiscard]] bool ends_rank() const noexcept {
    return kind == fault_kind::stop || kind == fault_kind::exit || kind == fault_kind::abort || ends_process();
  }
  /// Whether its process goes no further, which it must have for itself.
  [[nodiscard]] bool ends_process() const noexcept {
    return kind == fault_kind::kill || kind == fault_kind::halt || kind == fault_kind::vanish;
  }
};

/// The first step that is not touched by it any more.
int step_behind(const injected_fault& fault) noexcept;

/// The code that a rank's peers record of it. Of late: when it is missed at all.
fault_code due_fault(const injected_fault& fault) noexcept;

struct case_spec {
  std::string suite;
  std::string name;
  std::string id;  ///< suite/name@key=value,... with keys sorted
  std::vector<std::string> tags;
  std::string profile;  ///< name of the model profile, or empty

  int ep_size = 1;
  comm_params params;
  std::int64_t num_tokens = 0;                     ///< per rank and step; the maximum where steps or ranks differ
  std::optional<step_counts> token_counts;         ///< n of each step and rank
  int empty_ranks = 0;                             ///< so many ranks, at most all, drawn anew each step, have no tokens
  std::optional<std::int64_t> runtime_max_tokens;  ///< T of every step; none: as runtime_max_tokens_from says
  runtime_max_rule runtime_max_tokens_from = runtime_max_rule::tokens;
  bool topk_weights = true;
  std::size_t extra_bytes = 0;
  std::int64_t eplb_stats = 0;  ///< integers of load statistics of a rank: its choices of the first so many experts
  routing_law routing = routing_law::uniform;
  routing_parameters law;
  std::shared_ptr<const routing_trace> trace;  ///< of routing_law::trace: n, ids and, where it has them, weights
  int duplicate_percent = 0;  ///< chance that a slot but the first repeats an earlier one of its row, 0..100
  int invalid_percent = 0;    ///< share of ids replaced by invalid_expert_id, 0..100
  step_counts padding_rows;   ///< of each step and rank: the last rows, at most all n, name no expert in any slot
  hidden_values values = hidden_values::random;
  reference::expert_law experts = reference::expert_law::scaled;
  step_variation variation = step_variation::fixed;
  launch_mode launch = launch_mode::eager;
  choice lamport = choice::automatic;
  std::int64_t lamport_max_tokens = 64;
  low_precision low_precision_combine = low_precision::none;
  int steps = 3;
  int blocks = 1;   ///< blocks per launch of a rank
  int workers = 1;  ///< threads that run a rank's blocks
  std::uint32_t first_epoch = 1;
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds warmup_timeout{0};  ///< of the first step; 0: long enough for threads to be started
  lateness late;
  bool enable_rank_mask = false;
  std::optional<step_counts> masked_from;  ///< by rank, one step: from which step on it is masked off
  std::optional<int> rejoin_step;          ///< before it all ranks recover, and take part again
  int layers = 1;  ///< instances of each rank that share its workspace; steps run in them in turn
  layer_format_rule layer_formats = layer_format_rule::same;
  int retire_every = 0;      ///< before every so many steps the last layer is destroyed, until one is left; 0: never
  int checkpoint_every = 0;  ///< before every so many steps workspaces lose their memory and get it back; 0: never
  int side_workspace_every = 0;  ///< of so many steps the last runs in a workspace of its own, made for it; 0: none
  std::optional<injected_fault> inject;
  fault_code expected_fault = fault_code::none;  ///< a case that must fault: which code, on every rank that is there
  bool prompt_verdict = false;                   ///< records must also come within the contract's time
  lacking_room lacks = lacking_room::nothing;    ///< every dispatch must be refused for it
  bool recovers = false;                         ///< after the fault all ranks recover and go on behind it
  bool leaves_out = false;                       ///< all but the one that erred, without which they go on
};

/// Memory that run_case needs for `spec`: bytes of arena, and those of the case's trace, which lies beside it.
std::size_t required_bytes(const case_spec& spec);

}  // namespace switchyard::harness
