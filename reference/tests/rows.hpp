// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests: rows from bit patterns, random bits, and a whole step played out with the golden model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference::tests {

using byte_row = std::vector<std::byte>;

/// A row whose elements have the given bits; Bits is std::uint16_t or std::uint32_t.
template <typename Bits>
byte_row row_of(const std::vector<Bits>& elements) {
  byte_row row(elements.size() * sizeof(Bits));
  if (!row.empty()) std::memcpy(row.data(), elements.data(), row.size());
  return row;
}

template <typename Bits>
std::vector<Bits> bits_of(std::span<const std::byte> row) {
  std::vector<Bits> elements(row.size() / sizeof(Bits));
  if (!row.empty()) std::memcpy(elements.data(), row.data(), row.size());
  return elements;
}

/// Uniform bits: every kind of value, NaNs and subnormals too.
inline byte_row random_row(std::mt19937_64& random, std::size_t row_bytes) {
  byte_row row(row_bytes);
  for (std::byte& byte : row) byte = static_cast<std::byte>(random() & 0xFFU);
  return row;
}

inline std::vector<const std::byte*> pointers_to(const std::vector<byte_row>& rows) {
  std::vector<const std::byte*> pointers;
  pointers.reserve(rows.size());
  for (const byte_row& row : rows) pointers.push_back(row.data());
  return pointers;
}

/// combine_token over rows in memory; owners default to 0, 1, 2, ... The output is poisoned before.
inline byte_row combine(const std::vector<byte_row>& rows, dtype type, sum_order order = sum_order::slot_order,
                        std::vector<int> owners = {}) {
  const std::vector<const std::byte*> pointers = pointers_to(rows);
  if (owners.empty()) {
    owners.resize(rows.size());
    std::iota(owners.begin(), owners.end(), 0);
  }
  byte_row out(rows.front().size(), std::byte{0xCD});
  combine_token(pointers, owners, out.size() / itemsize(type), type, order, out.data());
  return out;
}

/// One element of one sum, by its bits.
template <typename Bits>
Bits combine_element(const std::vector<Bits>& elements, dtype type, sum_order order = sum_order::slot_order,
                     const std::vector<int>& owners = {}) {
  std::vector<byte_row> rows;
  rows.reserve(elements.size());
  for (const Bits element : elements) rows.push_back(row_of<Bits>({element}));
  return bits_of<Bits>(combine(rows, type, order, owners)).front();
}

/// What `owner` returns for `token` of `source`.
using expert_function = std::function<byte_row(int owner, int source, std::int64_t token)>;

/// Plays a step: dispatch, `expert` on every row that holds a token, combine. Returns outputs[rank][token] of the ranks
/// that take part. Rows are
/// looked up in what dispatch returned, so a token that dispatch lost or misplaced ends the test.
inline std::vector<std::vector<byte_row>> play_step(const step_shape& shape, const std::vector<rank_routing>& routing,
                                                    const expert_function& expert) {
  const std::vector<dispatched_rank> dispatched = dispatch(shape, routing);
  const auto top_k = static_cast<std::size_t>(shape.params.top_k);
  const auto elements = static_cast<std::size_t>(shape.params.hidden_size);
  std::vector<std::vector<byte_row>> outputs(routing.size());
  for (std::size_t source = 0; source < routing.size(); ++source) {
    if (!contains(shape.active, static_cast<int>(source))) continue;
    const std::span<const std::int32_t> ids = routing[source].topk_ids;
    std::vector<std::int32_t> next_row(routing.size(), 0);
    for (std::int64_t token = 0; token < routing[source].num_tokens; ++token) {
      const auto owners = owners_in_slot_order(ids.subspan(static_cast<std::size_t>(token) * top_k, top_k),
                                               shape.params.num_experts, shape.ep_size, shape.active);
      std::vector<byte_row> rows;
      for (const int owner : owners) {
        const auto destination = static_cast<std::size_t>(owner);
        const auto row = source * static_cast<std::size_t>(shape.tokens_per_rank) +
                         static_cast<std::size_t>(next_row[destination]++);
        rows.push_back(expert(owner, static_cast<int>(source), dispatched[destination].source_tokens.at(row)));
      }
      const std::vector<const std::byte*> pointers = pointers_to(rows);
      byte_row out(elements * itemsize(shape.params.dtype), std::byte{0xCD});
      combine_token(pointers, owners, elements, shape.params.dtype, sum_order::slot_order, out.data());
      outputs[source].push_back(out);
    }
  }
  return outputs;
}

/// A small legal shape; tests change what they are about.
inline step_shape shape_of(int ep_size, std::int64_t num_experts, std::int64_t top_k, std::int64_t tokens_per_rank,
                           std::int64_t hidden_size = 8) {
  step_shape shape;
  shape.ep_size = ep_size;
  shape.params.num_experts = num_experts;
  shape.params.top_k = top_k;
  shape.params.max_tokens_per_rank = tokens_per_rank;
  shape.params.hidden_size = hidden_size;
  shape.tokens_per_rank = tokens_per_rank;
  return shape;
}

/// Random ids, with repetitions; about one in `one_in_invalid` is -1.
inline rank_routing random_routing(std::mt19937_64& random, const step_shape& shape, std::int64_t num_tokens,
                                   unsigned one_in_invalid) {
  rank_routing routing{num_tokens, {}};
  for (std::int64_t i = 0; i < num_tokens * shape.params.top_k; ++i) {
    const auto expert = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape.params.num_experts));
    routing.topk_ids.push_back(random() % one_in_invalid == 0 ? -1 : expert);
  }
  return routing;
}

}  // namespace switchyard::reference::tests
