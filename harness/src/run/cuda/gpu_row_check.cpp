// SPDX-License-Identifier: Apache-2.0
#include "gpu_row_check.hpp"

#include "row_check_kernel.hpp"

namespace switchyard::harness {
namespace {

using all_found = std::array<rows_found, all_payloads.size()>;
static_assert(sizeof(all_found) <= row_check_found_bytes);

std::optional<random_use> use_of(payload_kind kind) {
  switch (kind) {
    case payload_kind::hidden_states: return random_use::hidden_states;
    case payload_kind::hidden_states_scale: return random_use::hidden_states_scale;
    case payload_kind::extra: return random_use::extra;
    case payload_kind::topk_ids:
    case payload_kind::topk_weights: break;
  }
  return std::nullopt;
}

}  // namespace

gpu_row_check::gpu_row_check(const case_spec& spec, gpu_lane& lane, std::byte* block)
    : spec_(spec), lane_(lane), found_(block), tokens_(block + row_check_found_bytes) {
  const current_device current(lane.device());  // a kernel's first launch may wait for the whole device
  launch_row_check({}, lane.stream());
  lane.synchronize();
}

rank_device::row_checks gpu_row_check::check(const step_inputs& inputs, std::uint64_t seed, int rank,
                                             const dispatch_result& views) {
  const auto& tokens = inputs.golden(rank).source_tokens;
  all_found found;
  lane_.write(found_, reinterpret_cast<const std::byte*>(&found), sizeof(found));
  lane_.write(tokens_, reinterpret_cast<const std::byte*>(tokens.data()), tokens.size() * sizeof(tokens[0]));
  rank_device::row_checks result;
  for (const auto kind : all_payloads) {
    const auto index = static_cast<std::size_t>(kind);
    const auto& view = view_of(views, kind);
    const auto use = use_of(kind);
    const auto row_bytes = inputs.generator().row_bytes(kind);
    // A view that does not fit the payload is a finding of the CPU's.
    if (!use || row_bytes == 0 || view.data == nullptr || view.row_bytes != row_bytes) continue;
    checked_rows rows;
    rows.rows = view.data;
    rows.tokens = reinterpret_cast<const std::int64_t*>(tokens_);
    rows.num_rows = tokens.size();
    rows.tokens_per_rank = static_cast<std::uint64_t>(inputs.plan().tokens_per_rank);
    rows.law = {seed,
                static_cast<std::uint64_t>(inputs.step()),
                *use,
                spec_.values,
                row_dtype(inputs.params()),
                rows_are_elements(inputs.params()),
                row_bytes,
                inputs.params().dispatch_format.value_or(dispatch_format::bf16),
                static_cast<std::uint64_t>(inputs.params().hidden_size)};
    rows.found = reinterpret_cast<rows_found*>(found_) + index;
    launch_row_check(rows, lane_.stream());
    result.at(index).emplace();
  }
  const device_read read{reinterpret_cast<std::byte*>(&found), found_, sizeof(found)};
  lane_.read({&read, 1});
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!result.at(i)) continue;
    const auto& of_payload = found.at(i);
    *result.at(i) = {of_payload.wrong, of_payload.wrong == 0 ? -1 : static_cast<std::int64_t>(of_payload.first)};
  }
  return result;
}

}  // namespace switchyard::harness
