// SPDX-License-Identifier: Apache-2.0
// The sum of one token's rows, in a stated order.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "element_blocks.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

using row_list = std::span<const std::byte* const>;

void check(row_list rows, std::span<const int> owners, std::size_t elements, const std::byte* out) {
  if (owners.size() != rows.size()) {
    throw invalid_argument("combine_token: owners has " + std::to_string(owners.size()) + " entries, but rows has " +
                           std::to_string(rows.size()) + "; each row needs its owner");
  }
  if (elements == 0) return;
  if (out == nullptr) throw invalid_argument("combine_token: out is null, but elements > 0");
  const auto null = std::find(rows.begin(), rows.end(), nullptr);
  if (null != rows.end()) {
    throw invalid_argument("combine_token: rows[" + std::to_string(null - rows.begin()) + "] is null");
  }
}

template <typename Element>
void sum_left_to_right(row_list rows, std::size_t elements, std::byte* out) {
  constexpr std::size_t itemsize = sizeof(typename Element::bits);
  std::array<float, block_elements> sum;
  for (std::size_t first = 0; first < elements; first += block_elements) {
    const std::size_t count = std::min(block_elements, elements - first);
    widen<Element>(rows.front() + first * itemsize, count, sum.data());
    for (const std::byte* row : rows.subspan(1)) add<Element>(row + first * itemsize, count, sum.data());
    narrow<Element>(sum.data(), count, out + first * itemsize);
  }
}

template <typename Element>
void sum_balanced_tree(row_list rows, std::size_t elements, std::byte* out) {
  constexpr std::size_t itemsize = sizeof(typename Element::bits);
  std::vector<float> nodes(rows.size() * block_elements);
  const auto node = [&nodes](std::size_t index) { return nodes.data() + index * block_elements; };
  for (std::size_t first = 0; first < elements; first += block_elements) {
    const std::size_t count = std::min(block_elements, elements - first);
    for (std::size_t i = 0; i < rows.size(); ++i) widen<Element>(rows[i] + first * itemsize, count, node(i));
    // Node i stands for the rows i .. i + stride - 1; one without a right neighbour moves up unchanged.
    for (std::size_t stride = 1; stride < rows.size(); stride *= 2) {
      for (std::size_t i = 0; i + stride < rows.size(); i += 2 * stride) {
        float* const left = node(i);
        const float* const right = node(i + stride);
        for (std::size_t j = 0; j < count; ++j) left[j] += right[j];
      }
    }
    narrow<Element>(node(0), count, out + first * itemsize);
  }
}

std::vector<const std::byte*> by_owner(row_list rows, std::span<const int> owners) {
  std::vector<std::size_t> index(rows.size());
  std::iota(index.begin(), index.end(), std::size_t{0});
  std::stable_sort(index.begin(), index.end(),
                   [owners](std::size_t a, std::size_t b) { return owners[a] < owners[b]; });
  std::vector<const std::byte*> sorted(rows.size());
  std::transform(index.begin(), index.end(), sorted.begin(), [rows](std::size_t i) { return rows[i]; });
  return sorted;
}

}  // namespace

void combine_token(std::span<const std::byte* const> rows, std::span<const int> owners, std::size_t elements,
                   dtype type, sum_order order, std::byte* out) {
  check(rows, owners, elements, out);
  if (elements == 0) return;
  if (rows.empty()) {
    std::memset(out, 0, elements * itemsize(type));
    return;
  }
  if (rows.size() == 1) {  // a copy, not a sum: the bits of a NaN survive
    std::memcpy(out, rows.front(), elements * itemsize(type));
    return;
  }
  with_element(type, [&]<typename Element>(Element) {
    switch (order) {
      case sum_order::slot_order: return sum_left_to_right<Element>(rows, elements, out);
      case sum_order::rank_order: return sum_left_to_right<Element>(by_owner(rows, owners), elements, out);
      case sum_order::balanced_tree: return sum_balanced_tree<Element>(rows, elements, out);
    }
    throw invalid_argument("combine_token: order names no order of summation");
  });
}

}  // namespace switchyard::reference
