// SPDX-License-Identifier: Apache-2.0
// Low precision as spec/low_precision.hpp has it, in floating-point arithmetic.
#include "switchyard/reference/low_precision_combine.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "element_blocks.hpp"
#include "switchyard/reference/small_floats.hpp"

namespace switchyard::reference {
namespace {

/// The scale of a block of values.
float scale_of_values(std::span<const float> values) {
  float amax = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) return 1;
    amax = std::max(amax, std::fabs(value));
  }
  const float scale = amax / largest_e4m3;
  return scale == 0 ? 1 : scale;  // amax is 0, or so small that the quotient is: zeros must not become 0 / 0
}

/// In place.
void count_as(std::span<float> values, float scale) {
  for (float& value : values) value = e4m3_to_fp32(fp32_to_e4m3(value / scale)) * scale;
}

std::vector<float> widened(const std::byte* row, std::size_t elements, dtype type) {
  std::vector<float> values(elements);
  with_element(type, [&]<typename Element>(Element) { widen<Element>(row, elements, values.data()); });
  return values;
}

}  // namespace

void low_precision_values(const std::byte* row, std::size_t elements, dtype type, low_precision format, float* values) {
  with_element(type, [&]<typename Element>(Element) { widen<Element>(row, elements, values); });
  const std::span all(values, elements);
  switch (format) {
    case low_precision::none: return;
    case low_precision::fp8: return count_as(all, 1);
    case low_precision::fp8_block_scaled:
      for (std::size_t first = 0; first < elements; first += scaled_block_elements) {
        const auto block = all.subspan(first, std::min(scaled_block_elements, elements - first));
        count_as(block, scale_of_values(block));
      }
      return;
  }
  throw invalid_argument("low_precision_values: format names no format");
}

void combine_token_in(low_precision format, std::span<const std::byte* const> rows, std::span<const int> owners,
                      std::size_t elements, dtype type, sum_order order, std::byte* out) {
  if (format == low_precision::none || rows.empty() || elements == 0 || std::ranges::count(rows, nullptr) != 0) {
    return combine_token(rows, owners, elements, type, order, out);
  }
  std::vector<std::vector<float>> values(rows.size(), std::vector<float>(elements));
  std::vector<const std::byte*> value_rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    low_precision_values(rows[i], elements, type, format, values[i].data());
    value_rows.push_back(reinterpret_cast<const std::byte*>(values[i].data()));
  }
  std::vector<float> sum(elements);
  auto* sum_bytes = out == nullptr ? nullptr : reinterpret_cast<std::byte*>(sum.data());
  combine_token(value_rows, owners, elements, dtype::fp32, order, sum_bytes);
  with_element(type, [&]<typename Element>(Element) { narrow<Element>(sum.data(), elements, out); });
}

void low_precision_error::add_token(std::span<const std::byte* const> rows, std::size_t elements, dtype type,
                                    const std::byte* result) {
  std::vector<float> exact(elements);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto values = widened(rows[i], elements, type);
    for (std::size_t j = 0; j < elements; ++j) exact[j] = i == 0 ? values[j] : exact[j] + values[j];
  }
  const auto given = widened(result, elements, type);
  for (std::size_t j = 0; j < elements; ++j) {
    if (!std::isfinite(exact[j]) || !std::isfinite(given[j])) {
      ++left_out_;
      continue;
    }
    ++elements_;
    const double s = exact[j];
    const double off = std::fabs(static_cast<double>(given[j]) - s);
    sum_squared_error_ += off * off;
    sum_squares_ += s * s;
    if (s == 0) continue;
    const double relative = off / std::fabs(s);
    ++relative_elements_;
    sum_relative_ += relative;
    max_relative_ = std::max(max_relative_, relative);
  }
}

void low_precision_error::add(const low_precision_error& other) {
  elements_ += other.elements_;
  left_out_ += other.left_out_;
  relative_elements_ += other.relative_elements_;
  max_relative_ = std::max(max_relative_, other.max_relative_);
  sum_relative_ += other.sum_relative_;
  sum_squared_error_ += other.sum_squared_error_;
  sum_squares_ += other.sum_squares_;
}

low_precision_figures low_precision_error::figures() const noexcept {
  low_precision_figures all{elements_, left_out_, max_relative_, 0, 0};
  if (relative_elements_ != 0) all.mean_relative = sum_relative_ / static_cast<double>(relative_elements_);
  if (sum_squares_ != 0) all.rms_relative = std::sqrt(sum_squared_error_ / sum_squares_);
  return all;
}

}  // namespace switchyard::reference
