// SPDX-License-Identifier: Apache-2.0
// The first column of a bench's Markdown table, there where its rows are of several shapes.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "switchyard/harness/bench_shape.hpp"

namespace switchyard::harness {

class shape_column {
 public:
  /// Of rows that have a `shape` each.
  template <class Row>
  explicit shape_column(const std::vector<Row>& rows) {
    if (rows.empty()) return;
    one_ = rows.front().shape;
    several_ = std::ranges::any_of(rows, [&](const auto& row) { return row.shape != one_; });
    has_rows_ = true;
  }

  /// The shape of all rows, above the table; empty where they have several.
  [[nodiscard]] std::string heading() const { return several_ || !has_rows_ ? "" : shape_text(one_) + "\n\n"; }
  [[nodiscard]] std::string name() const { return several_ ? "| shape " : ""; }
  [[nodiscard]] std::string rule() const { return several_ ? "| --- " : ""; }
  [[nodiscard]] std::string cell(const bench_shape& shape) const {
    return several_ ? "| " + shape_text(shape) + ' ' : "";
  }

 private:
  bench_shape one_;
  bool several_ = false;
  bool has_rows_ = false;
};

}  // namespace switchyard::harness
