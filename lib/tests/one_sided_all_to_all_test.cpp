// SPDX-License-Identifier: Apache-2.0
// The class end to end on hand-checked exchanges. Breadth is the harness's matter.
#include "switchyard/one_sided_all_to_all.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <memory_resource>
#include <new>
#include <string>

#include "support/host_group.hpp"

namespace switchyard {
namespace {

using test::group_options;
using test::host_group;
using test::on_every_rank;
using test::token_batch;

group_options small_group(int ep_size = 2) {
  group_options options;
  options.ep_size = ep_size;
  options.params = {.num_experts = 4, .top_k = 2, .max_tokens_per_rank = 40, .hidden_size = 8};
  options.config.timeout = std::chrono::seconds(20);
  return options;
}

std::vector<std::int32_t> received_ids(const dispatch_result& received, std::size_t row) {
  std::vector<std::int32_t> ids(received.topk_ids.row_bytes / 4);
  std::memcpy(ids.data(), received.topk_ids.data + row * received.topk_ids.row_bytes, received.topk_ids.row_bytes);
  return ids;
}

std::uint16_t received_value(const dispatch_result& received, std::size_t row, std::size_t element) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, received.hidden_states.data + row * received.hidden_states.row_bytes + element * 2, 2);
  return bits;
}

// Experts 0, 1 belong to rank 0 and 2, 3 to rank 1.
TEST(one_sided_all_to_all, rows_arrive_packed_in_source_order) {
  auto options = small_group();
  options.config.lamport = choice::off;
  host_group group(options);
  std::vector<token_batch> batches;
  batches.emplace_back(0, options.params, std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 0}, {3, -1}, {-1, 99}});
  batches.emplace_back(1, options.params, std::vector<std::vector<std::int32_t>>{{2, 3}, {1, 1}});
  on_every_rank(2, [&](int rank) {
    auto& batch = batches[static_cast<std::size_t>(rank)];
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    const auto received = instance.dispatch(batch.inputs(), {.runtime_max_tokens_per_rank = 5}, stream);
    stream.synchronize();
    EXPECT_FALSE(instance.status()) << "rank " << rank;
    EXPECT_EQ(received.tokens_per_rank, 5);
    EXPECT_EQ(received.order, row_order::packed);
    EXPECT_EQ(received.transport, transport::fence);
    EXPECT_EQ(received.transport_reason, "lamport is off");
    const std::vector<std::int32_t> padding{-1, -1};
    if (rank == 0) {
      EXPECT_EQ(std::vector(received.recv_counts.begin(), received.recv_counts.end()), (std::vector{2, 1}));
      EXPECT_EQ(received_ids(received, 0), (std::vector{0, 1}));
      EXPECT_EQ(received_ids(received, 1), (std::vector{2, 0}));
      EXPECT_EQ(received_ids(received, 2), padding);
      EXPECT_EQ(received_ids(received, 5), (std::vector{1, 1}));
      EXPECT_EQ(received_ids(received, 6), padding);
      EXPECT_EQ(received_value(received, 1, 1), token_batch::value(0, 1, 1));
      EXPECT_EQ(received_value(received, 5, 0), token_batch::value(1, 1, 0));
    } else {
      EXPECT_EQ(std::vector(received.recv_counts.begin(), received.recv_counts.end()), (std::vector{2, 1}));
      EXPECT_EQ(received_ids(received, 0), (std::vector{2, 0}));
      EXPECT_EQ(received_ids(received, 1), (std::vector{3, -1}));
      EXPECT_EQ(received_ids(received, 5), (std::vector{2, 3}));
      EXPECT_EQ(received_value(received, 1, 3), token_batch::value(0, 2, 3));
    }
    instance.combine(test::identity_experts(instance, received, stream), batch.output(), stream);
    stream.synchronize();
    EXPECT_FALSE(instance.status()) << "rank " << rank;
  });
  // Identity experts: a token comes back times the number of distinct ranks it went to.
  const auto expect_row = [&](int rank, std::size_t token, float times) {
    for (int h = 0; h < 8; ++h) {
      const auto sent = token_batch::value(rank, static_cast<int>(token), h);
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(sent) << 16) * times;
      EXPECT_EQ(batches[static_cast<std::size_t>(rank)].output_row(token)[h], token_batch::bits_of(value))
          << "rank " << rank << " token " << token << " element " << h;
    }
  };
  expect_row(0, 0, 1);
  expect_row(0, 1, 2);
  expect_row(0, 2, 1);
  expect_row(0, 3, 0);
  expect_row(1, 0, 1);
  expect_row(1, 1, 1);
}

TEST(one_sided_all_to_all, rows_of_a_lamport_step_stand_where_their_tokens_do) {
  const auto options = small_group();
  host_group group(options);
  EXPECT_TRUE(group.instance(0).lamport_enabled().available);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params,
                      rank == 0 ? std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 0}, {3, -1}, {-1, 99}}
                                : std::vector<std::vector<std::int32_t>>{{2, 3}, {1, 1}});
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    const auto received = instance.dispatch(batch.inputs(), {.runtime_max_tokens_per_rank = 5}, stream);
    stream.synchronize();
    EXPECT_FALSE(instance.status()) << "rank " << rank;
    EXPECT_EQ(received.order, row_order::positional);
    EXPECT_EQ(received.transport, transport::lamport);
    EXPECT_EQ(received.transport_reason, "runtime_max_tokens_per_rank is at most lamport_max_tokens");
    EXPECT_EQ(std::vector(received.recv_counts.begin(), received.recv_counts.end()), (std::vector{2, 1}));
    const std::vector<std::int32_t> none{-1, -1};
    const auto expected =
        rank == 0
            ? std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 0}, none, none, none, none, {1, 1}, none, none, none}
            : std::vector<std::vector<std::int32_t>>{none, {2, 0}, {3, -1}, none, none, {2, 3}, none, none, none, none};
    for (std::size_t row = 0; row < expected.size(); ++row) {
      EXPECT_EQ(received_ids(received, row), expected[row]) << "rank " << rank << " row " << row;
    }
    if (rank == 0) {
      EXPECT_EQ(received_value(received, 6, 0), token_batch::value(1, 1, 0));
    } else {
      EXPECT_EQ(received_value(received, 2, 3), token_batch::value(0, 2, 3));
    }
    instance.combine(test::identity_experts(instance, received, stream), batch.output(), stream);
    stream.synchronize();
    EXPECT_FALSE(instance.status()) << "rank " << rank;
    // Token 1 of rank 0 went to two ranks.
    const auto sent = token_batch::value(rank, 1, 1);
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(sent) << 16) * (rank == 0 ? 2.0F : 1.0F);
    EXPECT_EQ(batch.output_row(1)[1], token_batch::bits_of(value)) << "rank " << rank;
  });
}

TEST(one_sided_all_to_all, runs_across_the_epoch_wrap_with_empty_ranks) {
  auto options = small_group(3);
  options.first_epoch = std::numeric_limits<std::uint32_t>::max() - 4;
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    for (int step = 0; step < 12; ++step) {
      const bool empty = (rank + step) % 3 == 0;
      std::vector<std::vector<std::int32_t>> ids;
      if (!empty) ids = {{0, 3}, {1, 2}};
      token_batch batch(rank, options.params, ids);
      const auto received =
          group.instance(rank).dispatch(batch.inputs(), {.runtime_max_tokens_per_rank = 2 + step}, group.stream(rank));
      group.instance(rank).combine(test::identity_experts(group.instance(rank), received, group.stream(rank)),
                                   batch.output(), group.stream(rank));
      group.stream(rank).synchronize();
      ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank << " step " << step;
      if (empty) continue;
      // Experts 0, 1 on rank 0; 2 on rank 1; 3 on rank 2: both tokens go to two ranks.
      const auto sent = token_batch::value(rank, 1, 0);
      const auto twice = std::bit_cast<float>(static_cast<std::uint32_t>(sent) << 16) * 2;
      ASSERT_EQ(batch.output_row(1)[0], token_batch::bits_of(twice)) << "rank " << rank << " step " << step;
    }
  });
}

TEST(one_sided_all_to_all, zero_copy_and_copied_expert_output_agree) {
  auto options = small_group();
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    for (const bool zero_copy : {true, false}) {
      token_batch batch(rank, options.params, {{0, 2}, {3, 1}});
      auto& instance = group.instance(rank);
      auto& stream = group.stream(rank);
      const auto received = instance.dispatch(batch.inputs(), {}, stream);
      test::aligned_bytes own(2 * 40 * 16);
      const auto buffer = instance.combine_input_buffer(dtype::bf16);
      auto* experts = zero_copy ? buffer.data : own.as<std::byte>();
      stream.enqueue([&] { std::memcpy(experts, received.hidden_states.data, 2 * 40 * 16); });
      instance.combine({experts, 8, dtype::bf16}, batch.output(), stream);
      stream.synchronize();
      ASSERT_FALSE(instance.status());
      const auto sent = token_batch::value(rank, 1, 0);
      const auto twice = std::bit_cast<float>(static_cast<std::uint32_t>(sent) << 16) * 2;
      EXPECT_EQ(batch.output_row(1)[0], token_batch::bits_of(twice)) << "zero_copy " << zero_copy;
    }
  });
}

TEST(one_sided_all_to_all, addresses_depend_only_on_layout) {
  auto options = small_group(1);
  host_group group(options);
  std::vector<std::byte*> seen;
  for (int step = 0; step < 3; ++step) {
    token_batch batch(0, options.params, {{0, 2}});
    const auto received = group.instance(0).dispatch(batch.inputs(), {}, group.stream(0));
    seen.push_back(received.hidden_states.data);
    seen.push_back(received.topk_ids.data);
    seen.push_back(group.instance(0).combine_input_buffer(dtype::bf16).data);
    group.instance(0).combine(test::identity_experts(group.instance(0), received, group.stream(0)), batch.output(),
                              group.stream(0));
    group.stream(0).synchronize();
  }
  for (std::size_t i = 3; i < seen.size(); ++i) EXPECT_EQ(seen[i], seen[i - 3]);
}

TEST(one_sided_all_to_all, calls_out_of_turn_are_refused) {
  auto options = small_group(1);
  host_group group(options);
  auto& instance = group.instance(0);
  auto& stream = group.stream(0);
  token_batch batch(0, options.params, {{0, 2}});
  EXPECT_THROW(instance.combine_input_buffer(dtype::bf16), state_error);
  test::aligned_bytes rows(40 * 16);
  EXPECT_THROW(instance.combine({rows.as<void>(), 8, dtype::bf16}, batch.output(), stream), state_error);
  const auto received = instance.dispatch(batch.inputs(), {}, stream);
  EXPECT_THROW(instance.dispatch(batch.inputs(), {}, stream), state_error);
  EXPECT_THROW(instance.combine_input_buffer(dtype::fp32), invalid_argument);
  EXPECT_THROW(instance.combine({received.hidden_states.data, 9, dtype::bf16}, batch.output(), stream),
               invalid_argument);
  EXPECT_THROW(
      instance.combine({instance.combine_input_buffer(dtype::bf16).data + 16, 8, dtype::bf16}, batch.output(), stream),
      invalid_argument);
  instance.combine(test::identity_experts(instance, received, stream), batch.output(), stream);
  stream.synchronize();
  instance.destroy();
  instance.destroy();
  EXPECT_THROW(instance.dispatch(batch.inputs(), {}, stream), state_error);
  EXPECT_THROW(instance.abort("late"), state_error);
  EXPECT_FALSE(instance.status());
  EXPECT_EQ(instance.workspace_data(), nullptr);
}

// Rows of the group's own dtype are what there is room for; another type fits where its rows take no more bytes.
TEST(one_sided_all_to_all, combine_rows_have_room_for_rows_of_the_groups_dtype) {
  for (const auto& [group_type, bytes] : {std::pair<dtype, std::size_t>{dtype::fp32, 32}, {dtype::bf16, 16}}) {
    auto options = small_group(1);
    options.params.dtype = group_type;
    host_group group(options);
    auto& instance = group.instance(0);
    auto& stream = group.stream(0);
    for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
      token_batch batch(0, options.params, {{0, 2}});
      (void)instance.dispatch(batch.inputs(), {}, stream);
      const auto row_bytes = 8 * itemsize(type);
      if (row_bytes <= bytes) {
        const auto offered = instance.combine_input_buffer(type);
        EXPECT_EQ(offered.row_bytes, row_bytes);
        EXPECT_EQ(offered.data, instance.combine_input_buffer(group_type).data) << "one address for all types";
      } else {
        try {
          (void)instance.combine_input_buffer(type);
          FAIL() << to_string(type) << " fits";
        } catch (const invalid_argument& e) {
          EXPECT_NE(std::string(e.what()).find("rows of fp32 have 32 bytes, must be at most the workspace's 16"),
                    std::string::npos)
              << e.what();
        }
      }
      // Narrower rows of the type that does not fit as a whole do, and zeros sum to zeros in each.
      const auto elements = static_cast<std::int64_t>(bytes / itemsize(type) < 8 ? bytes / itemsize(type) : 8);
      test::aligned_bytes rows(40 * bytes);
      test::aligned_bytes output(bytes, 0xCD);
      instance.combine({rows.as<void>(), elements, type}, {output.as<void>(), 1}, stream);
      stream.synchronize();
      EXPECT_FALSE(instance.status());
      for (std::size_t i = 0; i < static_cast<std::size_t>(elements) * itemsize(type); ++i) {
        ASSERT_EQ(output.as<unsigned char>()[i], 0) << to_string(type) << " byte " << i;
      }
    }
  }
}

TEST(one_sided_all_to_all, memory_of_the_workspace_or_of_one_another_is_refused) {
  auto options = small_group(1);
  host_group group(options);
  auto& instance = group.instance(0);
  auto& stream = group.stream(0);
  token_batch batch(0, options.params, {{0, 2}, {1, 3}});
  auto inputs = batch.inputs();
  inputs.hidden_states.data = instance.workspace_data() + 4096;
  EXPECT_THROW(instance.dispatch(inputs, {}, stream), invalid_argument);
  (void)instance.dispatch(batch.inputs(), {}, stream);
  const auto buffer = instance.combine_input_buffer(dtype::bf16);
  EXPECT_THROW(instance.combine({buffer.data, 8, dtype::bf16}, {instance.workspace_data(), 2}, stream),
               invalid_argument);
  EXPECT_THROW(instance.combine({buffer.data, 8, dtype::bf16}, {buffer.data, 2}, stream), invalid_argument);
  test::aligned_bytes own(40 * 16);
  EXPECT_THROW(instance.combine({own.as<void>(), 8, dtype::bf16}, {own.as<std::byte>() + 32, 2}, stream),
               invalid_argument);
  // An expert_output that begins before the workspace and reaches into it.
  EXPECT_THROW(instance.combine({instance.workspace_data() - 16, 8, dtype::bf16}, batch.output(), stream),
               invalid_argument);
  instance.combine({own.as<void>(), 8, dtype::bf16}, batch.output(), stream);
  stream.synchronize();
  EXPECT_FALSE(instance.status());
}

TEST(one_sided_all_to_all, a_local_error_says_that_peers_wait) {
  auto options = small_group(2);
  host_group group(options);
  token_batch batch(0, options.params, {{0, 2}});
  try {
    (void)group.instance(0).dispatch(batch.inputs(), {.runtime_max_tokens_per_rank = 0}, group.stream(0));
    ADD_FAILURE() << "T of 0 was taken";
  } catch (const invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("runtime_max_tokens_per_rank is 0"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("abort()"), std::string::npos) << e.what();
  }
}

/// Address space without memory behind it until it is touched.
class sparse_memory final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override { munmap(p, bytes); }
  [[nodiscard]] bool do_is_equal(const memory_resource& o) const noexcept override { return this == &o; }
};

// The rows of source 2 begin past 2^32 bytes from those of source 0: 2 * 2^17 tokens * 16 KiB.
TEST(one_sided_all_to_all, offsets_pass_32_bits) {
  sparse_memory memory;
  group_options options;
  options.ep_size = 3;
  options.params = {.num_experts = 3, .top_k = 1, .max_tokens_per_rank = 1 << 17, .hidden_size = 8192};
  options.config.timeout = std::chrono::seconds(50);
  options.host_memory = &memory;
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    token_batch batch(rank, options.params, {{0}, {0}});
    auto& instance = group.instance(rank);
    const auto received = instance.dispatch(batch.inputs(), {}, group.stream(rank));
    auto experts = test::identity_experts(instance, received, group.stream(rank));
    group.stream(rank).synchronize();
    ASSERT_FALSE(instance.status());
    if (rank == 0) {
      const std::size_t row = (std::size_t{2} << 17) + 1;
      EXPECT_EQ(received.recv_counts[2], 2);
      EXPECT_EQ(received_value(received, row, 8191), token_batch::value(2, 1, 8191));
    }
    instance.combine(experts, batch.output(), group.stream(rank));
    group.stream(rank).synchronize();
    ASSERT_FALSE(instance.status());
    EXPECT_EQ(batch.output_row(1)[8190], token_batch::value(rank, 1, 8190));
  });
}

}  // namespace
}  // namespace switchyard
