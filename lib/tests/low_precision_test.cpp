// SPDX-License-Identifier: Apache-2.0
// Combines whose outputs travel in low precision: sums of what rows count as, the same by every transport, on teams of
// one and of several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>

#include "fabric/host/quantised_rows.hpp"
#include "protocol/e4m3.hpp"
#include "support/exchange.hpp"
#include "support/team_block.hpp"

namespace switchyard {
namespace {

using test::exchange;
using test::run_on_host;

constexpr low_precision formats[] = {low_precision::fp8, low_precision::fp8_block_scaled};

exchange low_precision_exchange(int ep_size, low_precision format, choice lamport) {
  auto shape = test::small_exchange(ep_size);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(40);
  shape.config.low_precision_combine = format;
  shape.config.lamport = lamport;
  shape.config.extra_payload_bytes_per_token = 0;
  shape.params.dispatch_format.reset();
  shape.params.hidden_size = 700;
  shape.row_bytes = {36, 16, 4, 0, 0};
  shape.tokens_per_rank = 41;
  shape.combine_hidden_size = 300;
  return shape;
}

/// What an fp32 row counts as, element by element.
void count_as(std::byte* row, std::size_t elements, low_precision format) {
  for (std::size_t first = 0; first < elements; first += scaled_block_elements) {
    const auto count = std::min(scaled_block_elements, elements - first);
    std::uint32_t largest = 0;
    std::uint32_t bits[scaled_block_elements];
    std::memcpy(bits, row + first * 4, count * 4);
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, bits[i] & 0x7FFFFFFFU);
    const float scale = format == low_precision::fp8 ? 1.0F : protocol::scale_of(largest);
    for (std::size_t i = 0; i < count; ++i) {
      const auto quantised = protocol::to_e4m3(std::bit_cast<float>(bits[i]) / scale);
      const float value = protocol::from_e4m3(quantised) * scale;
      bits[i] = value == value ? std::bit_cast<std::uint32_t>(value) : 0x7FFFFFFFU;
    }
    std::memcpy(row + first * 4, bits, count * 4);
  }
}

void expect_same_outputs(const test::outcomes& is, const test::outcomes& should_be, const exchange& shape,
                         const std::string& where) {
  for (std::size_t step = 0; step < is.size(); ++step) {
    for (std::size_t rank = 0; rank < is[step].size(); ++rank) {
      EXPECT_EQ(test::difference(is[step][rank].output, should_be[step][rank].output, shape.combine_row_bytes()),
                "equal")
          << where << " rank " << rank << " step " << step;
    }
  }
}

class low_precision_combine : public testing::TestWithParam<choice> {};

// In fp32 what a row counts as is a row itself, and a usual combine of such rows has the same sums: one source comes
// back as what it counts as, this rank's own too.
TEST_P(low_precision_combine, is_the_sum_of_what_rows_count_as) {
  for (const auto format : formats) {
    for (const int ep_size : {1, 2, 3, 8}) {
      for (const std::int64_t hidden : {1, 37, 128, 300, 700}) {
        if (ep_size % 2 == 0 && hidden != 300) continue;
        auto shape = low_precision_exchange(ep_size, format, GetParam());
        shape.params.dtype = dtype::fp32;
        shape.combine_hidden_size = hidden;
        const auto is = run_on_host(shape, 3);
        auto plain = shape;
        plain.config.low_precision_combine = low_precision::none;
        plain.change_outputs = [&](std::vector<std::byte>& rows) {
          for (std::size_t at = 0; at < rows.size(); at += shape.combine_row_bytes()) {
            count_as(rows.data() + at, static_cast<std::size_t>(hidden), format);
          }
        };
        expect_same_outputs(
            is, run_on_host(plain, 3), shape,
            std::string(to_string(format)) + ", " + std::to_string(ep_size) + " ranks, h " + std::to_string(hidden));
      }
    }
  }
}

TEST_P(low_precision_combine, is_the_same_on_teams_of_several_threads) {
  for (const auto format : formats) {
    for (const int workers : {1, 3}) {
      auto shape = low_precision_exchange(2, format, GetParam());
      shape.tokens_per_rank = 21;
      const auto should_be = run_on_host(shape, 3);
      const auto teams = test::make_team_fabric();
      shape.make_fabric = [teams](int) { return teams; };
      shape.workers = workers;
      expect_same_outputs(run_on_host(shape, 3), should_be, shape, "teams by " + std::to_string(workers));
    }
  }
}

TEST_P(low_precision_combine, goes_by_any_number_of_blocks) {
  for (const int blocks : {1, 2, 7}) {
    for (const int workers : {1, 3}) {
      auto shape = low_precision_exchange(3, low_precision::fp8_block_scaled, GetParam());
      const auto should_be = run_on_host(shape, 4);
      shape.config.max_blocks = blocks;
      shape.workers = workers;
      expect_same_outputs(run_on_host(shape, 4), should_be, shape,
                          std::to_string(blocks) + " blocks by " + std::to_string(workers));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(by, low_precision_combine, testing::Values(choice::off, choice::on),
                         [](const auto& by) { return by.param == choice::on ? "lamport" : "fence"; });

TEST(low_precision, is_the_same_by_lamport_as_by_fence) {
  for (const auto format : formats) {
    for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
      for (const std::int64_t hidden : {1, 15, 128, 300, 700}) {
        for (const bool hard_words : {false, true}) {
          if (hard_words && hidden != 300) continue;
          auto shape = low_precision_exchange(3, format, choice::on);
          shape.params.dtype = type;
          shape.combine_hidden_size = hidden;
          shape.hard_words = hard_words;
          shape.experts_by_token = true;
          const auto is = run_on_host(shape, 3);
          shape.config.lamport = choice::off;
          expect_same_outputs(is, run_on_host(shape, 3), shape, std::string(to_string(type)));
        }
      }
    }
  }
}

// Scales are valid by their tags alone: these pass through 0, which memory that was never stored to has.
TEST(low_precision, scales_are_fresh_while_the_epoch_wraps) {
  auto shape = low_precision_exchange(2, low_precision::fp8_block_scaled, choice::on);
  shape.tokens_per_rank = 5;
  const auto should_be = run_on_host(shape, 8);
  shape.first_epoch = 0xFFFFFFFBU;
  expect_same_outputs(run_on_host(shape, 8), should_be, shape, "wrapping");
}

// Rows of narrower elements than those of the workspace may have more of them, up to its bytes.
TEST(low_precision, has_room_for_the_longest_rows) {
  for (const auto lamport : {choice::off, choice::on}) {
    test::group_options options;
    options.ep_size = 2;
    options.params = {.num_experts = 4, .top_k = 2, .max_tokens_per_rank = 8, .hidden_size = 200, .dtype = dtype::fp32};
    options.config.timeout = std::chrono::seconds(20);
    options.config.lamport = lamport;
    options.config.low_precision_combine = low_precision::fp8_block_scaled;
    test::host_group group(options);
    test::on_every_rank(2, [&](int rank) {
      // Expert 0 is of rank 0, 2 of rank 1: every token goes to both, each rank's rows lie in its slices.
      test::token_batch batch(rank, options.params, {{0, 2}, {2, 0}, {0, 2}, {2, 0}, {0, 2}, {2, 0}, {0, 2}, {2, 0}});
      auto& stream = group.stream(rank);
      (void)group.instance(rank).dispatch(batch.inputs(), {}, stream);
      // 3 and -1.5 are values of e4m3 with any power of two as scale: 448 in each block makes it 1.
      std::vector<std::uint16_t> rows(2UL * 8 * 400, rank == 0 ? 0x4040 : 0xBFC0);
      for (std::size_t i = 0; i < rows.size(); i += 400)
        rows[i] = rows[i + 128] = rows[i + 256] = rows[i + 384] = 0x43E0;
      test::aligned_bytes outputs(rows.size() * 2);
      std::memcpy(outputs.as<std::byte>(), rows.data(), rows.size() * 2);
      test::aligned_bytes sums(8UL * 400 * 2);
      group.instance(rank).combine({outputs.as<void>(), 400, dtype::bf16}, {sums.as<void>(), 8}, stream);
      stream.synchronize();
      ASSERT_FALSE(group.instance(rank).status());
      for (std::size_t i = 0; i < 8UL * 400; ++i) {
        const bool is_largest = i % 400 % 128 == 0;
        ASSERT_EQ(sums.as<std::uint16_t>()[i], is_largest ? 0x4460 : 0x3FC0) << i;  // 896 and 1.5
      }
    });
  }
}

// Half of the bytes of bf16, and 4 more for 128: so much less do inboxes take.
TEST(low_precision, takes_less_memory) {
  const comm_params params{.num_experts = 8, .top_k = 4, .max_tokens_per_rank = 512, .hidden_size = 7168};
  one_sided_config config;
  const auto inbox = [&](low_precision format, const std::string& name) {
    config.low_precision_combine = format;
    for (const auto& region : workspace_regions(params, config, 4)) {
      if (region.name == name) return region.bytes;
    }
    return std::size_t{0};
  };
  EXPECT_EQ(inbox(low_precision::none, "combine_inbox"), 512U * 4 * 14336);
  EXPECT_EQ(inbox(low_precision::fp8, "combine_inbox"), 512U * 4 * 7168);
  EXPECT_EQ(inbox(low_precision::fp8_block_scaled, "combine_inbox"), 512U * 4 * (7168 + 56 * 4));
  // 896 units of three words; 448; 448 and a word for each of 56 blocks, in whole lines.
  EXPECT_EQ(inbox(low_precision::none, "lamport_combine_inbox"), 256U * 4 * 896 * 24);
  EXPECT_EQ(inbox(low_precision::fp8, "lamport_combine_inbox"), 256U * 4 * 448 * 24);
  EXPECT_EQ(inbox(low_precision::fp8_block_scaled, "lamport_combine_inbox"), 256U * 4 * (448 * 24 + 512));
}

}  // namespace
}  // namespace switchyard
