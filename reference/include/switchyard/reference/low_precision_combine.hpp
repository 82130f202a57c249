// SPDX-License-Identifier: Apache-2.0
// The golden model of a combine whose rows travel in low precision: the exact bits, and how far they are from sums in
// fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/low_precision.hpp"

namespace switchyard::reference {

/// What the elements of a row count as in the sum, in fp32: y of spec/low_precision.hpp, and x itself for
/// low_precision::none. `row`: `elements` elements of `type`, no alignment needed; `values`: as many.
void low_precision_values(const std::byte* row, std::size_t elements, dtype type, low_precision format, float* values);

/// combine_token of rows that travel in `format`; a single row comes back as what it counts as, rounded to `type`, with
/// canonical NaNs. Arguments and errors as combine_token, which it is for low_precision::none.
void combine_token_in(low_precision format, std::span<const std::byte* const> rows, std::span<const int> owners,
                      std::size_t elements, dtype type, sum_order order, std::byte* out);

/// What low_precision_error comes to.
struct low_precision_figures {
  std::uint64_t elements = 0;  ///< that were compared
  std::uint64_t left_out = 0;
  double max_relative = 0;   ///< the largest |y - s| / |s|, where s is not 0
  double mean_relative = 0;  ///< their mean; 0 where there are none
  /// sqrt(sum of (y - s)^2 / sum of s^2): of the results as a whole, in which cancelled sums do not stand out; 0 where
  /// all s are 0.
  double rms_relative = 0;

  friend bool operator==(const low_precision_figures&, const low_precision_figures&) = default;
};

/// How far results y are from s, the sums in fp32, in slot order and not rounded further, of rows that did not travel
/// in low precision. Elements of which y or s is not finite are left out. Accumulated in fp64, in the order of the
/// calls.
class low_precision_error {
 public:
  /// A token's rows in slot order, and its result; both of `elements` elements of `type`.
  void add_token(std::span<const std::byte* const> rows, std::size_t elements, dtype type, const std::byte* result);
  void add(const low_precision_error& other);

  [[nodiscard]] low_precision_figures figures() const noexcept;

 private:
  std::uint64_t elements_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t relative_elements_ = 0;
  double max_relative_ = 0;
  double sum_relative_ = 0;
  double sum_squared_error_ = 0;
  double sum_squares_ = 0;
};

}  // namespace switchyard::reference
