// SPDX-License-Identifier: Apache-2.0
// The declared values on which two ranks can disagree.
#include "explanations.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::tools {
namespace {

constexpr std::string_view kind = "mismatch field";

explanation width(step_field field, std::string_view meaning) {
  return {kind, to_string(field), meaning,
          "One rank passes the payload in another format or shape, or with padding that the others do not have.",
          "expected and actual are bytes per row. Divide by the number of elements: the quotient names the format."};
}

}  // namespace

std::vector<explanation> field_explanations() {
  return {
      {kind, to_string(step_field::none), "The fault is not about a value on which ranks disagree.", "",
       "The code of the fault."},
      {kind, to_string(step_field::runtime_max_tokens_per_rank),
       "T of the step: the row stride of the receive buffers, which must be the same on every rank.",
       "Ranks that compute T from their own number of tokens instead of agreeing on the largest.",
       "Where the caller gets T from; the smaller of expected and actual is usually the one that was not agreed on."},
      {kind, to_string(step_field::payload_set),
       "Which payloads travel, one bit each: 1 hidden_states, 2 topk_ids, 4 topk_weights, 8 hidden_states_scale, 16 "
       "extra.",
       "A rank without tokens that leaves a payload out: presence is declared, and a null pointer is no reason to.",
       "The bits in which expected and actual differ; then the inputs of the rank with fewer."},
      width(step_field::hidden_states_row_bytes, "Bytes of a row of hidden states."),
      width(step_field::topk_ids_row_bytes, "Bytes of a row of expert ids, four for each of the top_k slots."),
      width(step_field::topk_weights_row_bytes, "Bytes of a row of expert weights."),
      width(step_field::hidden_states_scale_row_bytes, "Bytes of a row of scales of hidden states."),
      width(step_field::extra_row_bytes, "Bytes of a row of the extra payload."),
      {kind, to_string(step_field::eplb_stats_length),
       "Integers of load statistics that each rank brings to dispatch; 0: none.",
       "Ranks that count experts of different layers, or of which some leave the statistics out when they have no "
       "tokens.",
       "The length of eplb_local_stats at both callers."},
      {kind, to_string(step_field::transport), "The protocol that a rank has chosen for the phase.",
       "The choice is made from declared values, so ranks whose limits or configuration differ choose differently.",
       "The configuration of both ranks; construction compares it, so look for one that was changed or captured "
       "later."},
      {kind, to_string(step_field::chunk_tokens),
       "How many tokens of a source one flag stands for, which the sender and the receiver must agree on.",
       "Different builds, or different block limits, on the two ranks.",
       "max_blocks and the version of the library on both ranks."},
      {kind, to_string(step_field::combine_hidden_size), "Elements of a row that combine returns.",
       "A rank that combines another layer, or a slice of another width.", "What both callers passed to combine."},
      {kind, to_string(step_field::combine_dtype), "The element type in which experts' outputs are combined.",
       "A rank whose experts run in another precision.", "What both callers passed to combine."},
      {kind, to_string(step_field::instance),
       "Which of the instances that share the workspace runs the step, by the order in which they were made.",
       "Ranks that run their layers in different orders, or of which one has skipped a layer.",
       "The order of layers at both callers, and what the one with the lower number has left out."},
      {kind, to_string(step_field::incarnation),
       "How often the group has been recovered or restored; every rank counts the same.",
       "A rank that came back without the others, or that missed a recovery.",
       "The rank with the smaller number: it belongs to the past and must join through recover."},
      {kind, to_string(step_field::rank_mask),
       "The ranks that take part in the step, a bit for each; in headers of groups of more than 32 ranks a hash of "
       "them, and then the message names the ranks that are in one mask alone, if both have told theirs.",
       "Ranks that do not set the same mask before the same step, or that learned of a lost rank at different steps.",
       "The ranks on which the masks differ; what both callers last gave to set_active_ranks, and before which "
       "dispatch in stream order."},
      {kind, to_string(step_field::row_count), "Rows that the owner holds, against rows that the source has sent it.",
       "Rows lost or counted twice in dispatch; a routing bitmap that was overwritten.",
       "loss and duplication findings of the same step; the verdict on counts if there is one."},
      {kind, to_string(step_field::routed_bitmap),
       "The owner's copy of the bitmap that says which tokens were routed to it, against the source's own.",
       "A header slot overwritten by another step or another rank.",
       "overrun findings of the same case, and whether it is the same pair of ranks in every run."},
  };
}

}  // namespace switchyard::tools
