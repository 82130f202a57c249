// SPDX-License-Identifier: Apache-2.0
// The sizes of a drawn case: each is drawn inside what the sizes before it have left of the budget.
#include "random_shape.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <string>
#include <vector>

#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

// What a phase costs a pair of ranks even without rows, in bytes moved: headers, flags, a change of threads.
constexpr std::int64_t pair_overhead_bytes = 4096;

constexpr std::array dtypes{dtype::bf16, dtype::fp16, dtype::fp32};

/// Most cases are tiny, some are not, a few take all that the limits allow.
std::int64_t draw_budget(corner_random& random, const random_limits& limits) {
  const auto most = static_cast<std::int64_t>(std::min(limits.max_work_bytes, std::size_t{1} << 40));
  const auto luck = random.evenly(0, 99);
  const std::int64_t share = luck < 3 ? 1 : luck < 20 ? 8 : 64;
  return std::max<std::int64_t>(1, most / share);
}

/// The case that needs the most memory of all that can be drawn inside a shape, but for low precision.
case_spec largest_case(const random_shape& shape) {
  case_spec spec;
  spec.ep_size = static_cast<int>(shape.ranks);
  spec.params.num_experts = shape.experts;
  spec.params.top_k = shape.top_k;
  spec.params.max_tokens_per_rank = shape.capacity;
  spec.params.hidden_size = shape.hidden_size;
  spec.params.dtype = shape.dtype;
  spec.params.dispatch_format = shape.dispatch_format;
  spec.num_tokens = shape.capacity;
  spec.runtime_max_tokens = shape.capacity;
  spec.extra_bytes = static_cast<std::size_t>(shape.extra_bytes);
  spec.eplb_stats = shape.eplb_stats;
  spec.variation = step_variation::vary;
  spec.lamport_max_tokens = shape.capacity;
  spec.steps = static_cast<int>(shape.steps);
  spec.side_workspace_every = 1;
  return spec;
}

/// In low precision long rows take less, and short ones more, because their scales have a line of their own.
std::size_t most_required_bytes(const random_shape& shape) {
  auto spec = largest_case(shape);
  const auto as_they_are = required_bytes(spec);
  spec.low_precision_combine = low_precision::fp8_block_scaled;
  return std::max(as_they_are, required_bytes(spec));
}

/// Halves sizes until the case fits into memory; each turn of the loop halves one of three sizes.
void fit_into_memory(random_shape& shape, const random_limits& limits) {
  while (most_required_bytes(shape) > limits.max_bytes) {
    if (shape.capacity > 1 && shape.capacity >= shape.hidden_size) {
      shape.capacity /= 2;
    } else if (shape.hidden_size > 1) {
      shape.hidden_size /= 2;
    } else if (shape.ranks > 1 && !(shape.fault_due && shape.ranks == 2)) {
      shape.ranks /= 2;
    } else {
      throw input_error("random limits: max_bytes: " + std::to_string(limits.max_bytes) +
                        ": too small for the smallest case");
    }
  }
}

}  // namespace

std::int64_t corner_random::number(std::int64_t least, std::int64_t most, std::initializer_list<std::int64_t> corners) {
  if (chance(1, 2)) {
    std::vector<std::int64_t> inside;
    std::ranges::copy_if(corners, std::back_inserter(inside),
                         [&](std::int64_t corner) { return corner >= least && corner <= most; });
    if (!inside.empty()) return one_of(inside);
  }
  const auto reach_of_all = static_cast<std::uint64_t>(most - least);
  const auto bits = static_cast<unsigned>(evenly(0, static_cast<std::int64_t>(std::bit_width(reach_of_all))));
  const auto reach = std::min(reach_of_all, (std::uint64_t{1} << bits) - 1);
  return least + static_cast<std::int64_t>(random_.below(reach + 1));
}

std::int64_t corner_random::evenly(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most - least) + 1));
}

random_shape draw_shape(corner_random& random, const random_limits& limits) {
  random_shape shape;
  const auto budget = draw_budget(random, limits);
  shape.fault_due = limits.max_ranks >= 2 && random.evenly(0, 999) < limits.faults_per_mille;
  // A rank that waits for one that does not come waits in real time: with few threads the deadline is not missed by
  // others.
  shape.ranks = shape.fault_due ? random.evenly(2, std::min<std::int64_t>(4, limits.max_ranks))
                                : random.number(1, limits.max_ranks, {1, 2, 3, 4, 8, limits.max_ranks});
  const auto most_experts = std::max(shape.ranks, limits.max_experts);
  shape.experts = random.number(shape.ranks, most_experts,
                                {shape.ranks, shape.ranks + 1, 2 * shape.ranks - 1, 2 * shape.ranks, 32, most_experts});
  const auto most_slots = std::min({limits.max_top_k, std::int64_t{max_top_k}, shape.experts});
  shape.top_k = random.number(1, most_slots, {1, 2, 8, shape.experts - 1, shape.experts, most_slots});
  shape.dtype = random.one_of(dtypes);
  if (random.chance(1, 2)) shape.dispatch_format = random.one_of(all_dispatch_formats);
  if (random.chance(1, 4)) shape.extra_bytes = random.number(0, limits.max_extra_bytes, {1, 3, 4, 15, 16, 17, 64});

  if (random.chance(1, 3)) {
    shape.eplb_stats = random.number(0, shape.experts, {1, 2, shape.experts - 1, shape.experts});
  }

  const auto pairs = shape.ranks * shape.ranks;
  const auto element = static_cast<std::int64_t>(itemsize(shape.dtype));
  const auto left_for_rows = std::max<std::int64_t>(1, budget / pairs);
  const auto most_hidden = std::clamp<std::int64_t>(left_for_rows / (3 * element), 1, limits.max_hidden);
  shape.hidden_size = random.number(
      1, most_hidden, {1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 129, 256, 2880, most_hidden});

  const comm_params params = largest_case(shape).params;
  const auto row_bytes = static_cast<std::int64_t>(params.dispatch_bytes_per_token()) + shape.top_k * 8 +
                         shape.extra_bytes + 2 * shape.hidden_size * element;
  const auto most_tokens = std::clamp<std::int64_t>(left_for_rows / row_bytes, 1, limits.max_tokens);
  shape.capacity = random.number(1, most_tokens, {1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 256, most_tokens});

  const auto step_bytes = pairs * (shape.capacity * row_bytes + pair_overhead_bytes);
  const auto most_steps = std::clamp<std::int64_t>(budget / step_bytes, 1, limits.max_steps);
  shape.steps = random.number(1, most_steps, {1, 2, 3, 4, 5, most_steps});
  fit_into_memory(shape, limits);
  shape.workers = random.number(1, std::clamp<std::int64_t>(limits.max_threads / shape.ranks, 1, 4), {1, 2});
  return shape;
}

}  // namespace switchyard::harness
