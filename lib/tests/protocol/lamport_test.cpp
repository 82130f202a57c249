// SPDX-License-Identifier: Apache-2.0
// Lamport steps against fence steps of the same inputs: the same counts, the same rows by token, the same sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "support/exchange.hpp"
#include "support/team_block.hpp"

namespace switchyard {
namespace {

using test::exchange;
using test::run_on_host;

/// A step whose payloads' rows are multiples of 4 bytes, few of them of 16.
exchange lamport_exchange(int ep_size) {
  auto shape = test::small_exchange(ep_size);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(20);
  shape.config.extra_payload_bytes_per_token = 20;
  shape.row_bytes = {252, 16, 12, 8, 20};
  shape.tokens_per_rank = 41;
  return shape;
}

/// The rows of each source that hold a token, in their order, before those that do not: whatever the row order, these
/// are the same.
test::rank_outcome packed(test::rank_outcome result, const exchange& shape) {
  const auto ids = result.views[1];
  const auto per_source = static_cast<std::size_t>(shape.tokens_per_rank);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto row_bytes = shape.row_bytes[i];
    if (row_bytes == 0) continue;
    std::vector<std::byte> rows;
    for (std::size_t first = 0; first < shape.receive_rows(); first += per_source) {
      for (const bool wanted : {true, false}) {
        for (std::size_t row = first; row < first + per_source; ++row) {
          if (test::holds_token(ids, shape, row) != wanted) continue;
          const auto* bytes = result.views[i].data() + row * row_bytes;
          rows.insert(rows.end(), bytes, bytes + row_bytes);
        }
      }
    }
    result.views[i] = rows;
  }
  return result;
}

void expect_as_by_fence(exchange shape, int steps, const std::string& where) {
  shape.experts_by_token = true;
  auto by_fence = shape;
  by_fence.config.lamport = choice::off;
  by_fence.make_fabric = {};
  by_fence.before_combine = {};
  const auto should_be = run_on_host(by_fence, steps);
  const auto is = run_on_host(shape, steps);
  for (std::size_t step = 0; step < is.size(); ++step) {
    for (std::size_t rank = 0; rank < is[step].size(); ++rank) {
      expect_same(packed(is[step][rank], shape), packed(should_be[step][rank], shape), shape,
                  where + " rank " + std::to_string(rank) + " step " + std::to_string(step));
    }
  }
}

TEST(lamport, every_byte_is_that_of_a_fence_step_at_every_group_size) {
  for (int ep_size = 1; ep_size <= 8; ++ep_size) {
    expect_as_by_fence(lamport_exchange(ep_size), 4, std::to_string(ep_size) + " ranks,");
  }
}

TEST(lamport, every_dtype_and_odd_widths_of_combine) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    for (const std::int64_t hidden : {256, 37, 1}) {
      auto shape = lamport_exchange(3);
      shape.params.dtype = type;
      shape.params.dispatch_format.reset();
      shape.combine_hidden_size = hidden;
      shape.row_bytes = {36, 16, 4, 0, 0};
      expect_as_by_fence(shape, 3, std::string(to_string(type)) + " " + std::to_string(hidden));
    }
  }
}

TEST(lamport, a_few_blocks_and_blocks_that_come_one_after_another) {
  for (const int blocks : {1, 2, 3, 7, 200}) {
    for (const int workers : {1, 3}) {
      auto shape = lamport_exchange(3);
      shape.config.max_blocks = blocks;
      shape.workers = workers;
      expect_as_by_fence(shape, 4, std::to_string(blocks) + " blocks by " + std::to_string(workers));
    }
  }
}

// A peer may be a step ahead by fence, and have told where the outputs of that step go.
TEST(lamport, combine_asks_nothing_that_a_fence_dispatch_tells) {
  for (const int blocks : {1, 3}) {
    auto shape = lamport_exchange(3);
    shape.config.max_blocks = shape.workers = blocks;
    shape.before_combine = [shape](std::byte* workspace) {
      for (const auto& region : workspace_regions(shape.params, shape.config, shape.ep_size)) {
        if (region.name == "return_rows") std::fill_n(workspace + region.offset, region.bytes, std::byte{0});
      }
    };
    expect_as_by_fence(shape, 4, std::to_string(blocks) + " blocks, return rows of another step,");
  }
}

TEST(lamport, every_pattern_of_bits_arrives_unchanged) {
  for (const int blocks : {1, 3}) {
    auto shape = lamport_exchange(3);
    shape.hard_words = true;
    shape.row_bytes[0] = 256;  // whole units
    shape.config.max_blocks = shape.workers = blocks;
    expect_as_by_fence(shape, 12, std::to_string(blocks) + " blocks, hard words,");
    shape.params.dtype = dtype::fp32;
    shape.params.dispatch_format.reset();
    shape.row_bytes[3] = 0;
    expect_as_by_fence(shape, 6, std::to_string(blocks) + " blocks, hard words of fp32,");
  }
}

TEST(lamport, teams_take_hard_words) {
  auto shape = lamport_exchange(2);
  shape.hard_words = true;
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(40);
  const auto teams = test::make_team_fabric();
  shape.make_fabric = [teams](int) { return teams; };
  expect_as_by_fence(shape, 4, "teams, hard words,");
}

TEST(lamport, teams_of_several_threads) {
  for (const int workers : {1, 3}) {
    auto shape = lamport_exchange(3);
    shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(40);
    const auto teams = test::make_team_fabric();
    shape.make_fabric = [teams](int) { return teams; };
    shape.workers = workers;
    expect_as_by_fence(shape, 4, "teams by " + std::to_string(workers));
  }
}

}  // namespace
}  // namespace switchyard
