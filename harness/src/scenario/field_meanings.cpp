// SPDX-License-Identifier: Apache-2.0
// The meanings of fields.
#include "switchyard/harness/field_meanings.hpp"

#include <algorithm>
#include <array>

#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

constexpr auto meanings = std::to_array<field_meaning>({
    {"blocks", "1", "blocks of each launch of a rank"},
    {"checkpoint_every", "0",
     "before every so many steps all ranks give their workspaces' memory back (checkpoint_prepare) and take it again "
     "at the same addresses, by a new comm backend (checkpoint_restore); 0: never"},
    {"dispatch_format", "rows of dtype", "format of the hidden states that travel; sizes the rows and their scales"},
    {"dtype", "bf16", "of expert outputs and sums, and of hidden states that have no format of their own"},
    {"duplicate_percent", "0", "chance that a slot but the first repeats an earlier one of its row"},
    {"empty_ranks", "0", "so many ranks, drawn anew each step, have no tokens"},
    {"enable_rank_mask", "false",
     "whether ranks may be masked off; the first step is then run with a mask of all ranks"},
    {"eplb_stats", "0",
     "load statistics that are gathered with each dispatch: how often a rank's tokens choose each of the experts from "
     "0 "
     "on, so many; 0: none"},
    {"expected_fault", "none", "the case must fault with this code on every rank that is there; then it passes"},
    {"expert_groups", "8", "routing grouped: into how many groups of neighbours the experts fall"},
    {"experts", "scaled", "what the stand-in for an expert multiplies by: scaled, a factor of its own; identity, 1"},
    {"extra_bytes", "0", "bytes of a row of the extra payload; 0: it does not travel"},
    {"first_epoch", "1", "epoch of the first phase; 4294967291 wraps after five phases"},
    {"groups_per_token", "4", "routing grouped: in how many of the groups a token finds its experts"},
    {"hidden_size", "due", "elements of a hidden state; set by a profile"},
    {"hot_expert", "0", "routing hot_expert: which one"},
    {"hot_percent", "100", "routing hot_rank and hot_expert: share of the tokens that follow it, the rest are uniform"},
    {"hot_rank", "0", "routing hot_rank: which one"},
    {"inject.field", "none",
     "inject.kind disagree and corrupt: the declared value that is another; corrupt with none: the digest alone"},
    {"inject.kind", "nothing",
     "what one rank does wrong, once. stop: it enters neither the phase nor a later one; exit: the same, and its end "
     "of "
     "the exchange is destroyed; abort: the same, after abort(); late: it enters the phase late; skip: it leaves the "
     "phase out and goes on; disagree: it declares another value than all others; corrupt: its peers get a header that "
     "says otherwise; misdirect: its header goes where that of the other phase is due; these two need blocks that "
     "err, so they are skipped on GPUs; mask_off_self: its mask lacks itself; mask_past_end: its mask has a rank that "
     "the group does not have; kill, halt, vanish: its process is killed, is stopped for good, or exits without a "
     "word, "
     "so ranks must be processes (run --launch), and cases are skipped where they are not"},
    {"inject.late_ms", "due for late", "by how much the rank is late"},
    {"inject.phase", "that of the field, or dispatch", "the phase in which it does so"},
    {"inject.rank", "due", "the rank that does so"},
    {"inject.step", "0", "the step in which it does so, from 0"},
    {"invalid_percent", "0", "share of ids that are replaced by one that names no expert"},
    {"lacks_room_for", "nothing",
     "what every rank's workspace is made too small for; then each dispatch must be refused, with the bytes that are "
     "needed and those that there are, before anything is stored anywhere, and the case passes. hidden_states, "
     "hidden_states_scale: rows of another format; extra, eplb_stats: of one less"},
    {"lamport", "auto",
     "whether steps go by the transport lamport where they are eligible: T within lamport_max_tokens, every row a "
     "multiple of 4 bytes; on: the library refuses the case where it has no such steps"},
    {"lamport_max_tokens", "64", "the largest T of a step that may go by the transport lamport"},
    {"late_rank", "drawn each time", "the rank that sleeps where late_us is set"},
    {"late_us", "0", "before each phase one rank sleeps up to this long, in microseconds"},
    {"launch", "eager",
     "how launches reach the device. eager: one by one; graph: a step is one CUDA graph, captured once for each shape "
     "and replayed with new inputs in place; two_graphs: dispatch is one, experts and combine another; mixed: graph, "
     "eager and two_graphs in turn. All but eager are skipped where there are no graphs, so on the host fabric"},
    {"layer_formats", "same",
     "in which formats layers dispatch. same: in dispatch_format; all_that_fit: layer after layer in the formats, "
     "dispatch_format first, whose rows and scales fit the workspace that is made for it"},
    {"layers", "1",
     "instances of each rank, as the layers of a model: they share the rank's workspace, and steps run in them in "
     "turn"},
    {"low_precision_combine", "none",
     "in which format expert outputs travel in combine. fp8: e4m3; fp8_block_scaled: e4m3 with a scale for 128 "
     "elements; none: as they are. Sums are those of the golden model all the same, and how far these are from sums in "
     "fp32 is recorded"},
    {"masked_from", "never",
     "by rank, one step: the step from which on a rank is masked off, which a number past the last step never is; it "
     "then takes no part, and the others go on without it"},
    {"max_tokens_per_rank", "the largest T", "capacity of the workspace, in tokens of a rank"},
    {"num_experts", "due", "experts of the layer, over all ranks; they need not divide; set by a profile"},
    {"padding_rows", "0", "the last rows of a rank, so many, name no expert in any slot; by step and rank"},
    {"profile", "a shape of one's own",
     "a model of profiles.json: sets hidden_size, top_k, num_experts and both types"},
    {"prompt_verdict", "false",
     "whether fault records must also come in time: a mismatch within 100 ms, on GPUs 1 ms, of the later of two "
     "entries "
     "into the phase, whatever the deadline; a rank that is missed within its deadline and a tenth"},
    {"ranks", "due", "size of the group"},
    {"recover", "false",
     "whether, after the fault, all ranks call recover() and go on with the step behind it, which must be exact as all "
     "later ones"},
    {"recover_without", "false",
     "with recover: the rank that erred takes no part in it, and the others go on without it, as if it were masked "
     "off"},
    {"rejoin_step", "never",
     "before this step all ranks call recover(), and from it on those that were masked off take part again"},
    {"retire_every", "0",
     "before every so many steps the last of a rank's layers is destroyed, twice, until one is left; 0: never"},
    {"routing", "uniform",
     "how ids are drawn. uniform: distinct experts; balanced: every expert equally often; zipf: by popularity; "
     "hot_rank, "
     "hot_expert: one of them in every row; grouped: from some groups only; local, remote: experts of the own rank or "
     "of the others, slots beyond as many as there are name none; trace: recorded ids"},
    {"runtime_max_tokens", "see runtime_max_tokens_from", "T, the row stride, of every step"},
    {"runtime_max_tokens_from", "tokens",
     "where T comes from. tokens: the largest count; capacity: max_tokens_per_rank; drawn: in each step from between; "
     "own_tokens: each rank its own count, so that ranks disagree"},
    {"side_workspace_every", "0",
     "of every so many steps the last runs, launched one by one, in a workspace of another shape, which is made for it "
     "beside that of the layers and destroyed behind it; nothing of it may be left. 0: none does"},
    {"steps", "3", "dispatches, each with its combine; with a trace: as many as the trace has"},
    {"timeout_ms", "10000", "deadline of a phase; the first step has warmup_timeout_ms"},
    {"token_counts", "tokens on every rank",
     "tokens by step and rank, such as 0:32:32/8: steps separated by /, walked round and round, ranks by :"},
    {"tokens", "due", "tokens of each rank in each step, or the most where variation is vary; or token_counts"},
    {"top_k", "due", "experts of a token; set by a profile"},
    {"topk_weights", "true", "whether the weights travel"},
    {"trace", "none", "routing trace: the file traces/<trace>.jsonl beside the suite"},
    {"values", "random",
     "hidden states. random: values of both signs, of formats with scales quantised ones, one row in 64 any bits; "
     "ones: 1; nan_rows: every fourth row only "
     "NaNs; bits: every row any bits; "
     "hard_words: any bits, and words of eight bytes that a transport may treat apart"},
    {"variation", "fixed",
     "fixed: every step has the same shape; vary: counts, T, payloads, combine's width and invalid ids change"},
    {"warmup_timeout_ms", "10000, or timeout_ms where that is more",
     "deadline of the phases of the first step; where a rank is missed in that step, timeout_ms"},
    {"workers", "1", "threads that run a rank's blocks"},
    {"zipf_exponent_percent", "100", "routing zipf: the exponent s, in hundredths"},
});

std::string values_of(const field_rule& rule) {
  auto text = describe(rule);
  constexpr std::string_view must = "must be ";
  if (text.starts_with(must)) text.erase(0, must.size());
  if (rule.kind == field_kind::counts) return "counts";  // the rule in full is as long as a line
  return text;
}

}  // namespace

std::span<const field_meaning> field_meanings() noexcept { return meanings; }

const field_meaning* find_meaning(std::string_view field) noexcept {
  const auto* found =
      std::find_if(meanings.begin(), meanings.end(), [field](const auto& one) { return one.field == field; });
  return found == meanings.end() ? nullptr : found;
}

std::string fields_table() {
  std::string text = "| field | values | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const auto& one : meanings) {
    const auto* rule = find_field(one.field);
    text += "| `" + std::string(one.field) + "` | " + (rule == nullptr ? "" : values_of(*rule)) + " | " +
            std::string(one.otherwise) + " | " + std::string(one.meaning) + " |\n";
  }
  return text;
}

}  // namespace switchyard::harness
