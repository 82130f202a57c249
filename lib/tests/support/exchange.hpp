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
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "rules.hpp"
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
  /// Whether the k-th token of a source has the k-th of its expert rows, wherever its row is: for comparing row orders.
  bool experts_by_token = false;

  [[nodiscard]] std::size_t combine_row_bytes() const {
    return static_cast<std::size_t>(combine_hidden_size) * itemsize(params.dtype);
  }
  [[nodiscard]] std::size_t receive_rows() const {
    return static_cast<std::size_t>(ep_size) * static_cast<std::size_t>(tokens_per_rank);
  }
  std::function<std::shared_ptr<fabric>(int)> make_fabric;      ///< none: the host fabric
  std::function<void(std::vector<std::byte>&)> change_outputs;  ///< of a rank's experts, [ep_size * T, h]
  std::function<void(std::byte*)> before_combine;               ///< called with each rank's workspace in each step
  bool hard_words = false;  ///< payloads and outputs of the words that Lamport rows treat apart, and their neighbours
  int workers = 1;
  bool full = false;               ///< every rank has T tokens in every step
  std::optional<rank_set> active;  ///< the others take no part; needs enable_rank_mask
  std::uint32_t first_epoch = 1;

  [[nodiscard]] group_options group() const {
    group_options options;
    options.ep_size = ep_size;
    options.params = params;
    options.config = config;
    options.make_fabric = make_fabric;
    options.workers = workers;
    options.first_epoch = first_epoch;
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

/// All ones, whose inverse is 0; what reads as its stand-in; those two half by half; 0 and 1; NaNs and infinities.
inline std::vector<std::byte> hard_bytes(std::size_t bytes, std::mt19937_64& random) {
  constexpr std::array<std::uint64_t, 9> words{~std::uint64_t{0},
                                               ~std::uint64_t{1},
                                               0,
                                               1,
                                               0xFFFFFFFF00000000ULL,
                                               0x00000000FFFFFFFFULL,
                                               0x7FFF7FC07F80FF80ULL,
                                               0x8000000000000000ULL,
                                               0xFFFFFFFEFFFFFFFFULL};
  auto made = random_bytes(bytes, random);
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    const auto drawn = random();
    // Rows without a single such word, too: seven in eight keep theirs in one place of four only.
    if (drawn % 4 != 0 && drawn / 64 % 8 != 0) continue;
    std::memcpy(made.data() + i, &words.at(drawn / 4096 % words.size()), 8);
  }
  return made;
}

inline rank_bytes make_inputs(const exchange& shape, int rank, int step) {
  std::mt19937_64 random(static_cast<std::uint64_t>(1000 * step + rank));
  rank_bytes made;
  // Full, empty, and everything between.
  made.num_tokens = shape.full || (step + rank) % 4 == 0
                        ? shape.tokens_per_rank
                        : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape.tokens_per_rank + 1));
  const auto n = static_cast<std::size_t>(made.num_tokens);
  const auto make_bytes = shape.hard_words ? hard_bytes : random_bytes;
  for (std::size_t i = 0; i < made.payloads.size(); ++i) {
    made.payloads[i] = make_bytes(n * shape.row_bytes[i], random);
  }
  const auto ids = n * static_cast<std::size_t>(shape.params.top_k);
  for (std::size_t i = 0; i < ids; ++i) {
    // Now and then an id that is no expert; duplicates come by themselves.
    const auto id = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape.params.num_experts + 2)) - 1;
    std::memcpy(made.payloads[1].data() + i * sizeof(id), &id, sizeof(id));
  }
  made.experts = make_bytes(shape.receive_rows() * shape.combine_row_bytes(), random);
  if (shape.change_outputs) shape.change_outputs(made.experts);
  return made;
}

/// What one rank has after one step. Rows that hold no token are left out, but for their ids.
struct rank_outcome {
  std::vector<std::int32_t> counts;
  std::array<std::vector<std::byte>, 5> views;
  std::vector<std::byte> output;
};

/// Whether a row holds a token, which its ids tell whatever the row order. The tests' invalid tokens go nowhere.
inline bool holds_token(const std::vector<std::byte>& ids, const exchange& shape, std::size_t row) {
  const auto invalid = shape.params.invalid_expert_id;
  for (std::size_t at = 0; at < shape.row_bytes[1]; at += sizeof(invalid)) {
    if (std::memcmp(ids.data() + row * shape.row_bytes[1] + at, &invalid, sizeof(invalid)) != 0) return true;
  }
  return false;
}

/// Blanks the rows of all views that hold no token: their bytes are unspecified.
inline void blank_padding(rank_outcome& result, const exchange& shape) {
  for (std::size_t row = 0; row < shape.receive_rows(); ++row) {
    if (holds_token(result.views[1], shape, row)) continue;
    for (std::size_t i = 0; i < result.views.size(); ++i) {
      if (i == 1 || shape.row_bytes[i] == 0) continue;
      const auto first = result.views[i].begin() + static_cast<std::ptrdiff_t>(row * shape.row_bytes[i]);
      std::fill_n(first, shape.row_bytes[i], std::byte{0});
    }
  }
}

/// Moves `rows`, of which the k-th of a source belongs to the k-th of its tokens, to where the tokens are.
inline void move_to_tokens(std::byte* rows, std::size_t row_bytes, const std::vector<std::byte>& ids,
                           const exchange& shape) {
  const std::vector<std::byte> given(rows, rows + shape.receive_rows() * row_bytes);
  const auto per_source = static_cast<std::size_t>(shape.tokens_per_rank);
  for (std::size_t row = 0, next = 0; row < shape.receive_rows(); ++row) {
    if (row % per_source == 0) next = row;
    if (holds_token(ids, shape, row)) std::memcpy(rows + row * row_bytes, given.data() + next++ * row_bytes, row_bytes);
  }
}

using outcomes = std::vector<std::vector<rank_outcome>>;  ///< [step][rank]

/// Every Lamport word of a workspace that nobody stores to any more reads as one that has not come. Scales, which tell
/// by their tags whether they have, stay.
inline bool is_armed(const one_sided_all_to_all& instance, const exchange& shape) {
  const auto dims = extents_of(shape.params, shape.config, shape.ep_size);
  for (const auto& region : workspace_regions(shape.params, shape.config, shape.ep_size)) {
    if (!region.name.starts_with("lamport_") || !region.name.ends_with("_inbox")) continue;
    const bool is_combine = region.name == "lamport_combine_inbox";
    const auto row_bytes = is_combine ? dims.lamport_output_bytes() : dims.lamport_row_bytes();
    const auto armed_bytes = is_combine && dims.in_low_precision() ? dims.lamport_scales_offset() : row_bytes;
    const auto* first = instance.workspace_data() + region.offset;
    for (std::size_t at = 0; at < region.bytes; ++at) {
      if (at % row_bytes < armed_bytes && first[at] != std::byte{0}) return false;
    }
  }
  return true;
}

inline outcomes run_on_host(const exchange& shape, int steps) {
  outcomes all(static_cast<std::size_t>(steps), std::vector<rank_outcome>(static_cast<std::size_t>(shape.ep_size)));
  host_group group(shape.group());
  on_every_rank(shape.ep_size, [&](int rank) {
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    if (shape.active && !contains(*shape.active, rank)) return;
    if (shape.active) instance.set_active_ranks(*shape.active, stream);
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
      }
      blank_padding(result, shape);
      aligned_bytes experts(made.experts.size());
      std::memcpy(experts.as<std::byte>(), made.experts.data(), made.experts.size());
      if (shape.experts_by_token) {
        move_to_tokens(experts.as<std::byte>(), shape.combine_row_bytes(), result.views[1], shape);
      }
      aligned_bytes output(static_cast<std::size_t>(made.num_tokens) * shape.combine_row_bytes());
      if (shape.before_combine) shape.before_combine(instance.workspace_data());
      instance.combine({experts.as<void>(), shape.combine_hidden_size, shape.params.dtype},
                       {output.as<void>(), made.num_tokens}, stream);
      stream.synchronize();
      if (instance.status()) throw std::runtime_error("host fabric: fault");
      const auto* bytes = output.as<std::byte>();
      result.output.assign(bytes, bytes + static_cast<std::size_t>(made.num_tokens) * shape.combine_row_bytes());
    }
  });
  for (int rank = 0; rank < shape.ep_size; ++rank) {
    EXPECT_TRUE(is_armed(group.instance(rank), shape)) << "rank " << rank << " has left a word that it was sent";
  }
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
  shape.config.lamport_max_tokens = 64;
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
