// SPDX-License-Identifier: Apache-2.0
// The stand-in for the experts: factors times the row, rounded where the header says.
#include "switchyard/reference/simulated_expert.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "element_blocks.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

/// The factors c[k] of the slots that `owner` serves, in slot order.
struct factor_list {
  std::array<float, max_top_k> values;
  std::size_t count = 0;
};

void check(int owner, int ep_size, const comm_params& params, std::size_t num_ids, std::size_t num_weights,
           const std::byte* hidden_row, const std::byte* out) {
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

bool travels_as_elements(const comm_params& params) {
  if (!params.dispatch_format) return true;
  return (*params.dispatch_format == dispatch_format::bf16 && params.dtype == dtype::bf16) ||
         (*params.dispatch_format == dispatch_format::fp16 && params.dtype == dtype::fp16);
}

/// Values of an opaque row: element j is int8(row[floor(j * row_bytes / hidden_size)]) / 128.
class opaque_row {
 public:
  opaque_row(const std::byte* row, std::size_t row_bytes, std::size_t hidden_size)
      : row_(row), row_bytes_(row_bytes), hidden_size_(hidden_size) {}

  void read(std::size_t first, std::size_t count, float* __restrict values) const {
    if (row_bytes_ == hidden_size_) {  // the common case, without an index that defeats vectorisation
      const std::byte* const bytes = row_ + first;
      for (std::size_t j = 0; j < count; ++j) values[j] = value_of(bytes[j]);
      return;
    }
    // The quotient and remainder of the formula, carried from element to element: no division in the loop.
    std::size_t byte = first * row_bytes_ / hidden_size_;
    std::size_t remainder = first * row_bytes_ % hidden_size_;
    const std::size_t whole = row_bytes_ / hidden_size_;
    const std::size_t part = row_bytes_ % hidden_size_;
    for (std::size_t j = 0; j < count; ++j) {
      values[j] = value_of(row_[byte]);
      remainder += part;
      const bool carry = remainder >= hidden_size_;
      remainder -= carry ? hidden_size_ : 0;
      byte += whole + (carry ? 1 : 0);
    }
  }

 private:
  static float value_of(std::byte byte) { return static_cast<float>(std::to_integer<std::int8_t>(byte)) / 128.0F; }

  const std::byte* row_;
  std::size_t row_bytes_;
  std::size_t hidden_size_;
};

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

template <typename Element, typename Read>
void apply(const factor_list& factors, std::size_t hidden_size, const Read& read, std::byte* out) {
  std::array<float, block_elements> x;
  std::array<float, block_elements> sum;
  for (std::size_t first = 0; first < hidden_size; first += block_elements) {
    const std::size_t count = std::min(block_elements, hidden_size - first);
    read(first, count, x.data());
    weigh(factors, x.data(), count, sum.data());
    narrow<Element>(sum.data(), count, out + first * sizeof(typename Element::bits));
  }
}

}  // namespace

float expert_scale(std::int32_t expert) {
  return static_cast<float>(static_cast<std::uint32_t>(expert) % 64U + 1U) / 64.0F;
}

void simulated_expert_row(int owner, int ep_size, const comm_params& params, std::span<const std::int32_t> topk_ids,
                          std::span<const float> topk_weights, const std::byte* hidden_row, std::byte* out,
                          expert_law law) {
  check(owner, ep_size, params, topk_ids.size(), topk_weights.size(), hidden_row, out);
  const auto hidden_size = static_cast<std::size_t>(params.hidden_size);
  const factor_list factors = factors_of(owner, ep_size, params.num_experts, topk_ids, topk_weights, law);
  if (factors.count == 0) {
    std::memset(out, 0, hidden_size * itemsize(params.dtype));
    return;
  }
  with_element(params.dtype, [&]<typename Element>(Element) {
    if (travels_as_elements(params)) {
      apply<Element>(
          factors, hidden_size,
          [hidden_row](std::size_t first, std::size_t count, float* x) {
            widen<Element>(hidden_row + first * sizeof(typename Element::bits), count, x);
          },
          out);
    } else {
      const opaque_row row(hidden_row, params.dispatch_bytes().hidden_states, hidden_size);
      apply<Element>(
          factors, hidden_size, [&row](std::size_t first, std::size_t count, float* x) { row.read(first, count, x); },
          out);
    }
  });
}

}  // namespace switchyard::reference
