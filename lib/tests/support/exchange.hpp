// SPDX-License-Identifier: Apache-2.0
// Steps with random inputs, and what comes out of them on the host fabric: what others' must be, byte for byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/host_group.hpp"

namespace switchyard::test {

/// Payloads in the order of dispatch_inputs.
inline constexpr std::array<payload dispatch_inputs::*, 5> input_payloads{
    &dispatch_inputs::hidden_states, &dispatch_inputs::topk_ids, &dispatch_inputs::topk_weights,
    &dispatch_inputs::hidden_states_scale, &dispatch_inputs::extra};
inline constexpr std::array<rows_view dispatch_result::*, 5> result_views{
    &dispatch_result::hidden_states, &dispatch_result::topk_ids, &dispatch_result::topk_weights,
    &dispatch_result::hidden_states_scale, &dispatch_result::extra};

struct exchange {
  int ep_size = 2;
  comm_params params;
  one_sided_config config;
  std::int64_t tokens_per_rank = 1;        ///< T
  std::array<std::size_t, 5> row_bytes{};  ///< 0: not declared
  std::int64_t combine_hidden_size = 0;
  bool zero_copy = true;

  [[nodiscard]] std::size_t combine_row_bytes() const {
    return static_cast<std::size_t>(combine_hidden_size) * itemsize(params.dtype);
  }
  [[nodiscard]] std::size_t receive_rows() const {
    return static_cast<std::size_t>(ep_size) * static_cast<std::size_t>(tokens_per_rank);
  }
  std::function<std::shared_ptr<fabric>(int)> make_fabric;  ///< none: the host fabric
  int workers = 1;

  [[nodiscard]] group_options group() const {
    group_options options;
    options.ep_size = ep_size;
    options.params = params;
    options.config = config;
    options.make_fabric = make_fabric;
    options.workers = workers;
    return options;
  }
};

/// Everything that one rank brings to one step; random bits, so that a stale or misplaced byte shows.
struct rank_bytes {
  std::int64_t num_tokens = 0;
  std::array<std::vector<std::byte>, 5> payloads;
  std::vector<std::byte> experts;  ///< [ep_size * T, h]: any bits, NaNs and infinities included
};

inline std::vector<std::byte> random_bytes(std::size_t bytes, std::mt19937_64& random) {
  std::vector<std::byte> made((bytes + 7) / 8 * 8);
  for (std::size_t i = 0; i < made.size(); i += 8) {
    const auto word = random();
    std::memcpy(made.data() + i, &word, 8);
  }
  made.resize(bytes);
  return made;
}

inline rank_bytes make_inputs(const exchange& shape, int rank, int step) {
  std::mt19937_64 random(static_cast<std::uint64_t>(1000 * step + rank));
  rank_bytes made;
  // Full, empty, and everything between.
  made.num_tokens = (step + rank) % 4 == 0
                        ? shape.tokens_per_rank
                        : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape.tokens_per_rank + 1));
  const auto n = static_cast<std::size_t>(made.num_tokens);
  for (std::size_t i = 0; i < made.payloads.size(); ++i)
    made.payloads[i] = random_bytes(n * shape.row_bytes[i], random);
  const auto ids = n * static_cast<std::size_t>(shape.params.top_k);
  for (std::size_t i = 0; i < ids; ++i) {
    // Now and then an id that is no expert; duplicates come by themselves.
    const auto id = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape.params.num_experts + 2)) - 1;
    std::memcpy(made.payloads[1].data() + i * sizeof(id), &id, sizeof(id));
  }
  made.experts = random_bytes(shape.receive_rows() * shape.combine_row_bytes(), random);
  return made;
}

/// What one rank has after one step. Rows that hold no token are left out, but for their ids.
struct rank_outcome {
  std::vector<std::int32_t> counts;
  std::array<std::vector<std::byte>, 5> views;
  std::vector<std::byte> output;
};

/// Blanks the rows of a view that hold no token: their bytes are unspecified.
inline void blank_padding(std::vector<std::byte>& view, std::size_t row_bytes, std::int64_t tokens_per_rank,
                          const std::vector<std::int32_t>& counts) {
  for (std::size_t source = 0; source < counts.size(); ++source) {
    const auto first = source * static_cast<std::size_t>(tokens_per_rank) + static_cast<std::size_t>(counts[source]);
    const auto last = (source + 1) * static_cast<std::size_t>(tokens_per_rank);
    std::fill(view.begin() + static_cast<std::ptrdiff_t>(first * row_bytes),
              view.begin() + static_cast<std::ptrdiff_t>(last * row_bytes), std::byte{0});
  }
}

using outcomes = std::vector<std::vector<rank_outcome>>;  ///< [step][rank]

inline outcomes run_on_host(const exchange& shape, int steps) {
  outcomes all(static_cast<std::size_t>(steps), std::vector<rank_outcome>(static_cast<std::size_t>(shape.ep_size)));
  host_group group(shape.group());
  on_every_rank(shape.ep_size, [&](int rank) {
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    for (int step = 0; step < steps; ++step) {
      auto made = make_inputs(shape, rank, step);
      auto& result = all[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)];
      dispatch_inputs inputs;
      std::vector<aligned_bytes> held;
      for (std::size_t i = 0; i < 5; ++i) {
        held.emplace_back(made.payloads[i].size());
        if (!made.payloads[i].empty()) {
          std::memcpy(held.back().as<std::byte>(), made.payloads[i].data(), made.payloads[i].size());
        }
        inputs.*input_payloads[i] = {held.back().as<void>(), shape.row_bytes[i], shape.row_bytes[i] != 0};
      }
      inputs.num_tokens = made.num_tokens;
      const auto received = instance.dispatch(inputs, {shape.tokens_per_rank}, stream);
      stream.synchronize();
      result.counts.assign(received.recv_counts.begin(), received.recv_counts.end());
      for (std::size_t i = 0; i < 5; ++i) {
        if (shape.row_bytes[i] == 0) continue;
        const auto view = received.*result_views[i];
        result.views[i].assign(view.data, view.data + shape.receive_rows() * view.row_bytes);
        if (i != 1) blank_padding(result.views[i], view.row_bytes, shape.tokens_per_rank, result.counts);
      }
      aligned_bytes experts(made.experts.size());
      std::memcpy(experts.as<std::byte>(), made.experts.data(), made.experts.size());
      aligned_bytes output(static_cast<std::size_t>(made.num_tokens) * shape.combine_row_bytes());
      instance.combine({experts.as<void>(), shape.combine_hidden_size, shape.params.dtype},
                       {output.as<void>(), made.num_tokens}, stream);
      stream.synchronize();
      if (instance.status()) throw std::runtime_error("host fabric: fault");
      const auto* bytes = output.as<std::byte>();
      result.output.assign(bytes, bytes + static_cast<std::size_t>(made.num_tokens) * shape.combine_row_bytes());
    }
  });
  return all;
}

/// "equal", or the first byte that differs and how many do.
inline std::string difference(const std::vector<std::byte>& is, const std::vector<std::byte>& should_be,
                              std::size_t row_bytes) {
  if (is.size() != should_be.size())
    return std::to_string(is.size()) + " bytes, not " + std::to_string(should_be.size());
  std::size_t first = is.size();
  std::size_t differing = 0;
  for (std::size_t i = is.size(); i-- > 0;) {
    if (is[i] == should_be[i]) continue;
    first = i;
    ++differing;
  }
  if (differing == 0) return "equal";
  return "row " + std::to_string(first / row_bytes) + " byte " + std::to_string(first % row_bytes) + " is " +
         std::to_string(std::to_integer<int>(is[first])) + ", not " +
         std::to_string(std::to_integer<int>(should_be[first])) + "; " + std::to_string(differing) + " bytes differ";
}

/// A step of every kind of payload that still fits a second.
inline exchange small_exchange(int ep_size) {
  exchange shape;
  shape.ep_size = ep_size;
  shape.params = {.num_experts = 4 * ep_size + 3,
                  .top_k = 4,
                  .max_tokens_per_rank = 96,
                  .hidden_size = 256,
                  .dispatch_format = dispatch_format::mxfp8};
  shape.config.extra_payload_bytes_per_token = 7;
  shape.config.timeout = std::chrono::seconds(5);
  shape.config.warmup_timeout = std::chrono::seconds(10);
  shape.tokens_per_rank = 70;
  shape.row_bytes = {256, 16, 16, 8, 7};
  shape.combine_hidden_size = 256;
  return shape;
}

inline void expect_same(const rank_outcome& is, const rank_outcome& should_be, const exchange& shape,
                        const std::string& where) {
  EXPECT_EQ(is.counts, should_be.counts) << where;
  static constexpr const char* names[] = {"hidden_states", "topk_ids", "topk_weights", "hidden_states_scale", "extra"};
  for (std::size_t i = 0; i < 5; ++i) {
    if (shape.row_bytes[i] == 0) continue;
    EXPECT_EQ(difference(is.views[i], should_be.views[i], shape.row_bytes[i]), "equal") << where << " " << names[i];
  }
  EXPECT_EQ(difference(is.output, should_be.output, shape.combine_row_bytes()), "equal") << where << " output";
}

}  // namespace switchyard::test
