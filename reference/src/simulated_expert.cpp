// SPDX-License-Identifier: Apache-2.0
// The stand-in for the experts: factors times the row, rounded where the header says.
#include "switchyard/reference/simulated_expert.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "element_blocks.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/reference/quantise.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

/// The factors c[k] of the slots that `owner` serves, in slot order.
struct factor_list {
  std::array<float, max_top_k> values;
  std::size_t count = 0;
};

void check(int owner, int ep_size, const comm_params& params, std::size_t num_ids, std::size_t num_weights,
           const std::byte* hidden_row, const std::byte* scale_row, const std::byte* out) {
  const auto fail = [](const std::string& message) { throw invalid_argument("simulated_expert_row: " + message); };
  if (params.hidden_size < 1) fail("hidden_size is " + std::to_string(params.hidden_size) + ", but must be > 0");
  if (params.top_k < 1 || params.top_k > max_top_k) {
    fail("top_k is " + std::to_string(params.top_k) + ", but must be 1 .. " + std::to_string(max_top_k));
  }
  if (owner < 0 || owner >= ep_size) {
    fail("owner is " + std::to_string(owner) + ", but must be 0 .. " + std::to_string(ep_size - 1));
  }
  const auto top_k = static_cast<std::size_t>(params.top_k);
  if (num_ids != top_k) fail("topk_ids has " + std::to_string(num_ids) + " ids, but top_k is " + std::to_string(top_k));
  if (num_weights != 0 && num_weights != top_k) {
    fail("topk_weights has " + std::to_string(num_weights) + " weights, but must have none or top_k (" +
         std::to_string(top_k) + ")");
  }
  if (hidden_row == nullptr) fail("hidden_row is null");
  if (scale_row == nullptr && params.dispatch_bytes().hidden_states_scale != 0) fail("scale_row is null");
  if (out == nullptr) fail("out is null");
}

factor_list factors_of(int owner, int ep_size, std::int64_t num_experts, std::span<const std::int32_t> topk_ids,
                       std::span<const float> topk_weights, expert_law law) {
  factor_list factors;
  for (std::size_t k = 0; k < topk_ids.size(); ++k) {
    if (owner_of(topk_ids[k], num_experts, ep_size) != owner) continue;
    const float weight = topk_weights.empty() ? 1.0F : topk_weights[k];
    const float scale = law == expert_law::identity ? 1.0F : expert_scale(topk_ids[k]);
    factors.values[factors.count++] = weight * scale;
  }
  return factors;
}

/// The type of the elements of a row that is not quantised; nothing of one that is.
std::optional<dtype> element_type_of(const comm_params& params) {
  if (!params.dispatch_format) return params.dtype;
  if (*params.dispatch_format == dispatch_format::bf16) return dtype::bf16;
  if (*params.dispatch_format == dispatch_format::fp16) return dtype::fp16;
  return std::nullopt;
}

/// x[j] of a row, a piece at a time.
class received_row {
 public:
  received_row(const comm_params& params, const std::byte* row, const std::byte* scales)
      : type_(element_type_of(params)),
        format_(params.dispatch_format.value_or(dispatch_format::bf16)),
        row_(row),
        scales_(scales) {}

  /// Precondition: `first` is a multiple of block_elements.
  void read(std::size_t first, std::size_t count, float* x) const {
    if (type_) {
      return with_element(*type_, [&]<typename Element>(Element) {
        widen<Element>(row_ + first * sizeof(typename Element::bits), count, x);
      });
    }
    constexpr float tensor_scale = 1;
    const auto before = bytes_of(format_, first);
    dequantise_row(format_, row_ + before.hidden_states,
                   scales_ == nullptr ? nullptr : scales_ + before.hidden_states_scale, tensor_scale, {x, count});
  }

 private:
  std::optional<dtype> type_;
  dispatch_format format_;
  const std::byte* row_;
  const std::byte* scales_;
};
// Pieces begin where blocks of every format do.
static_assert(block_elements % 128 == 0);

/// sum[j] = c[0] * x[j] + c[1] * x[j] + ..., left to right, every operation rounded to fp32.
void weigh(const factor_list& factors, const float* __restrict x, std::size_t count, float* __restrict sum) {
  const float first = factors.values[0];
  for (std::size_t j = 0; j < count; ++j) sum[j] = first * x[j];
  for (std::size_t k = 1; k < factors.count; ++k) {
    const float factor = factors.values[k];
    for (std::size_t j = 0; j < count; ++j) {
      const float product = factor * x[j];
      sum[j] += product;
    }
  }
}

template <typename Element>
void apply(const factor_list& factors, std::size_t hidden_size, const received_row& row, std::byte* out) {
  std::array<float, block_elements> x;
  std::array<float, block_elements> sum;
  for (std::size_t first = 0; first < hidden_size; first += block_elements) {
    const std::size_t count = std::min(block_elements, hidden_size - first);
    row.read(first, count, x.data());
    weigh(factors, x.data(), count, sum.data());
    narrow<Element>(sum.data(), count, out + first * sizeof(typename Element::bits));
  }
}

}  // namespace

float expert_scale(std::int32_t expert) {
  return static_cast<float>(static_cast<std::uint32_t>(expert) % 64U + 1U) / 64.0F;
}

void simulated_expert_row(int owner, int ep_size, const comm_params& params, std::span<const std::int32_t> topk_ids,
                          std::span<const float> topk_weights, const std::byte* hidden_row, const std::byte* scale_row,
                          std::byte* out, expert_law law) {
  check(owner, ep_size, params, topk_ids.size(), topk_weights.size(), hidden_row, scale_row, out);
  const auto hidden_size = static_cast<std::size_t>(params.hidden_size);
  const factor_list factors = factors_of(owner, ep_size, params.num_experts, topk_ids, topk_weights, law);
  if (factors.count == 0) {
    std::memset(out, 0, hidden_size * itemsize(params.dtype));
    return;
  }
  const received_row row(params, hidden_row, scale_row);
  with_element(params.dtype, [&]<typename Element>(Element) { apply<Element>(factors, hidden_size, row, out); });
}

}  // namespace switchyard::reference
