// SPDX-License-Identifier: Apache-2.0
// The choices that a case makes among words: each enumeration, all its values, and its words in scenario files.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "switchyard/config.hpp"
#include "switchyard/spec/formats.hpp"

namespace switchyard::harness {

/// How the experts of a token are drawn. Ids of a row are distinct but where case_spec::duplicate_percent repeats them
/// or a trace does.
enum class routing_law : std::uint8_t {
  uniform,     ///< every subset of top_k experts equally likely
  balanced,    ///< every expert equally often over the ranks' tokens of a step
  zipf,        ///< one expert after another, with chance ~ 1 / (place in popularity)^s among those not yet drawn
  hot_rank,    ///< some tokens take their slots from one rank's experts, as many as it owns
  hot_expert,  ///< some tokens have one given expert in one slot
  grouped,     ///< experts of a few groups of neighbours, drawn anew for each token
  local,       ///< only experts of the token's own rank; slots beyond as many as it owns name no expert
  remote,      ///< only experts of other ranks; slots beyond as many as they own name no expert
  trace,       ///< as a routing trace says
};

/// Whether shapes stay or change from step to step.
enum class step_variation : std::uint8_t {
  fixed,  ///< every step as the case says
  vary,   ///< per step: n of each rank from 0 .. num_tokens, T from max n .. capacity, weights and extra come and go,
          ///< combine's h from {hidden_size, smaller}, some ids invalid, zero-copy combine on and off
};

/// Where a step's T comes from when the case does not say it.
enum class runtime_max_rule : std::uint8_t {
  tokens,      ///< max(1, largest n of the step)
  capacity,    ///< max_tokens_per_rank
  drawn,       ///< per step between the first two
  own_tokens,  ///< every rank passes max(1, its own n): a mistake that must be found out
};

/// What hidden states hold.
enum class hidden_values : std::uint8_t {
  random,      ///< finite values, one row in 64 random bits; no two rows alike
  ones,        ///< every element 1, and every scale: exact sums, but all rows alike
  nan_rows,    ///< as random, but every fourth row (token mod 4 is 3) has NaNs of all kinds and nothing else
  bits,        ///< random bits: subnormals, infinities and NaNs everywhere
  hard_words,  ///< among random bits, words of eight bytes that a transport may treat apart: all ones, all ones but the
               ///< last, 0, 1, halves of them, NaNs; in some rows many, each in turn at each place, in some one
};

/// How the launches of a step reach the device. All but eager need CUDA graphs: one for each shape of a step, captured
/// and instantiated before the first step, into which new inputs come in place.
enum class launch_mode : std::uint8_t {
  eager,       ///< one by one
  graph,       ///< a step is one graph: dispatch, the simulated experts, combine
  two_graphs,  ///< dispatch is a graph, the experts and combine another
  mixed,       ///< graph, eager and two_graphs in turn
};

/// What one rank of a case does wrong, once.
enum class fault_kind : std::uint8_t {
  stop,           ///< does not enter the phase nor any later one; it stays alive
  exit,           ///< the same, and destroys its end of the exchange
  abort,          ///< the same, after it has called abort()
  late,           ///< enters the phase some time after it could
  skip,           ///< leaves the phase out and goes on with the next
  disagree,       ///< declares another value of a field than all others
  corrupt,        ///< declares what all others do, but the header that its peers get says otherwise
  misdirect,      ///< sends its header where the header of the other phase is due
  mask_off_self,  ///< a mask without itself gets into its workspace
  mask_past_end,  ///< a mask with a rank that the group does not have gets into its workspace
  // Of ranks that are processes:
  kill,    ///< its process is killed (SIGKILL)
  halt,    ///< its process is stopped (SIGSTOP) and goes on no more
  vanish,  ///< its process exits, and destroys nothing
};

/// In which formats the layers of a rank dispatch their hidden states.
enum class layer_format_rule : std::uint8_t {
  same,          ///< all in the case's
  all_that_fit,  ///< in turn in every format whose rows and scales fit a workspace made for the case's, that one first
};

inline constexpr std::array all_layer_format_rules{layer_format_rule::same, layer_format_rule::all_that_fit};

inline constexpr std::array all_dispatch_formats{
    dispatch_format::bf16,  dispatch_format::fp16,  dispatch_format::fp8,  dispatch_format::fp8_block128,
    dispatch_format::mxfp8, dispatch_format::nvfp4, dispatch_format::mxfp4};

/// What the workspaces of a case are made too small for.
enum class lacking_room : std::uint8_t { nothing, hidden_states, hidden_states_scale, extra, eplb_stats };

inline constexpr std::array all_lacking_rooms{lacking_room::nothing, lacking_room::hidden_states,
                                              lacking_room::hidden_states_scale, lacking_room::extra,
                                              lacking_room::eplb_stats};

inline constexpr std::array all_routing_laws{routing_law::uniform,  routing_law::balanced,   routing_law::zipf,
                                             routing_law::hot_rank, routing_law::hot_expert, routing_law::grouped,
                                             routing_law::local,    routing_law::remote,     routing_law::trace};
inline constexpr std::array all_step_variations{step_variation::fixed, step_variation::vary};
inline constexpr std::array all_runtime_max_rules{runtime_max_rule::tokens, runtime_max_rule::capacity,
                                                  runtime_max_rule::drawn, runtime_max_rule::own_tokens};
inline constexpr std::array all_hidden_values{hidden_values::random, hidden_values::ones, hidden_values::nan_rows,
                                              hidden_values::bits, hidden_values::hard_words};

inline constexpr std::array all_launch_modes{launch_mode::eager, launch_mode::graph, launch_mode::two_graphs,
                                             launch_mode::mixed};

inline constexpr std::array all_fault_kinds{fault_kind::stop,          fault_kind::exit,      fault_kind::abort,
                                            fault_kind::late,          fault_kind::skip,      fault_kind::disagree,
                                            fault_kind::corrupt,       fault_kind::misdirect, fault_kind::mask_off_self,
                                            fault_kind::mask_past_end, fault_kind::kill,      fault_kind::halt,
                                            fault_kind::vanish};
/// Those that do not need ranks to be processes.
inline constexpr std::array thread_fault_kinds{
    fault_kind::stop,          fault_kind::exit,         fault_kind::abort,   fault_kind::late,
    fault_kind::skip,          fault_kind::disagree,     fault_kind::corrupt, fault_kind::misdirect,
    fault_kind::mask_off_self, fault_kind::mask_past_end};

inline constexpr std::array all_low_precisions{low_precision::none, low_precision::fp8,
                                               low_precision::fp8_block_scaled};

inline constexpr std::array all_uses{choice::off, choice::automatic, choice::on};  ///< of something optional

constexpr std::string_view to_string(routing_law law) noexcept {
  switch (law) {
    case routing_law::uniform: return "uniform";
    case routing_law::balanced: return "balanced";
    case routing_law::zipf: return "zipf";
    case routing_law::hot_rank: return "hot_rank";
    case routing_law::hot_expert: return "hot_expert";
    case routing_law::grouped: return "grouped";
    case routing_law::local: return "local";
    case routing_law::remote: return "remote";
    case routing_law::trace: return "trace";
  }
  return "unknown";
}

constexpr std::string_view to_string(step_variation variation) noexcept {
  switch (variation) {
    case step_variation::fixed: return "fixed";
    case step_variation::vary: return "vary";
  }
  return "unknown";
}

constexpr std::string_view to_string(runtime_max_rule rule) noexcept {
  switch (rule) {
    case runtime_max_rule::tokens: return "tokens";
    case runtime_max_rule::capacity: return "capacity";
    case runtime_max_rule::drawn: return "drawn";
    case runtime_max_rule::own_tokens: return "own_tokens";
  }
  return "unknown";
}

constexpr std::string_view to_string(hidden_values values) noexcept {
  switch (values) {
    case hidden_values::random: return "random";
    case hidden_values::ones: return "ones";
    case hidden_values::nan_rows: return "nan_rows";
    case hidden_values::bits: return "bits";
    case hidden_values::hard_words: return "hard_words";
  }
  return "unknown";
}

constexpr std::string_view to_string(launch_mode mode) noexcept {
  switch (mode) {
    case launch_mode::eager: return "eager";
    case launch_mode::graph: return "graph";
    case launch_mode::two_graphs: return "two_graphs";
    case launch_mode::mixed: return "mixed";
  }
  return "unknown";
}

constexpr std::string_view to_string(fault_kind kind) noexcept {
  switch (kind) {
    case fault_kind::stop: return "stop";
    case fault_kind::exit: return "exit";
    case fault_kind::abort: return "abort";
    case fault_kind::late: return "late";
    case fault_kind::skip: return "skip";
    case fault_kind::disagree: return "disagree";
    case fault_kind::corrupt: return "corrupt";
    case fault_kind::misdirect: return "misdirect";
    case fault_kind::mask_off_self: return "mask_off_self";
    case fault_kind::mask_past_end: return "mask_past_end";
    case fault_kind::kill: return "kill";
    case fault_kind::halt: return "halt";
    case fault_kind::vanish: return "vanish";
  }
  return "unknown";
}

constexpr std::string_view to_string(layer_format_rule rule) noexcept {
  switch (rule) {
    case layer_format_rule::same: return "same";
    case layer_format_rule::all_that_fit: return "all_that_fit";
  }
  return "unknown";
}

constexpr std::string_view to_string(lacking_room what) noexcept {
  switch (what) {
    case lacking_room::nothing: return "nothing";
    case lacking_room::hidden_states: return "hidden_states";
    case lacking_room::hidden_states_scale: return "hidden_states_scale";
    case lacking_room::extra: return "extra";
    case lacking_room::eplb_stats: return "eplb_stats";
  }
  return "unknown";
}

/// The words of some values, in their order.
template <typename Choice, std::size_t Count>
constexpr std::array<std::string_view, Count> words_of(const std::array<Choice, Count>& choices) noexcept {
  std::array<std::string_view, Count> words{};
  for (std::size_t i = 0; i < Count; ++i) words[i] = to_string(choices[i]);
  return words;
}

}  // namespace switchyard::harness
