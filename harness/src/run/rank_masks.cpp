// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/rank_masks.hpp"

namespace switchyard::harness {
namespace {

constexpr void flip(rank_set& set, int rank) noexcept {
  set[static_cast<std::size_t>(rank) / 64] ^= std::uint64_t{1} << (static_cast<unsigned>(rank) % 64);
}

}  // namespace

rank_set active_ranks_of(const case_spec& spec, int step) noexcept {
  rank_set active{};
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    const bool is_back = spec.rejoin_step && step >= *spec.rejoin_step;
    const bool is_left_out =
        spec.leaves_out && spec.inject && rank == spec.inject->rank && step >= step_behind(*spec.inject);
    if (is_left_out) continue;
    if (!spec.masked_from || is_back || step < spec.masked_from->at(0, rank)) insert(active, rank);
  }
  return active;
}

int rank_left_out(const case_spec& spec) noexcept {
  const auto active = active_ranks_of(spec, spec.inject->step);
  int rank = (spec.inject->rank + 1) % spec.ep_size;
  while (!contains(active, rank)) rank = (rank + 1) % spec.ep_size;
  return rank;
}

rank_set declared_mask(const case_spec& spec, int rank, int step) noexcept {
  auto mask = active_ranks_of(spec, step);
  const auto& fault = spec.inject;
  const bool is_odd = fault && fault->rank == rank && fault->step == step && fault->kind == fault_kind::disagree &&
                      fault->field == step_field::rank_mask;
  if (is_odd) flip(mask, rank_left_out(spec));
  return mask;
}

rank_set spoiled_bits(const case_spec& spec) noexcept {
  rank_set bits{};
  if (!spec.inject) return bits;
  if (spec.inject->kind == fault_kind::mask_off_self) flip(bits, spec.inject->rank);
  if (spec.inject->kind == fault_kind::mask_past_end) flip(bits, spec.ep_size);
  return bits;
}

}  // namespace switchyard::harness
