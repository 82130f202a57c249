// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come, disagree, or give up: what the others see, and when.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "support/host_group.hpp"

namespace switchyard {
namespace {

using test::enqueue_step;
using test::group_options;
using test::host_group;
using test::on_every_rank;
using test::token_batch;
using clock = std::chrono::steady_clock;

group_options fault_group(int ep_size, std::chrono::milliseconds timeout) {
  group_options options;
  options.ep_size = ep_size;
  options.params = {.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 70, .hidden_size = 8};
  options.config.timeout = timeout;
  options.config.warmup_timeout = timeout;
  return options;
}

const std::vector<std::vector<std::int32_t>> some_ids{{0, 7}, {3, 4}, {5, 2}};

void expect_cleared(const dispatch_result& received, std::int32_t top_k) {
  for (const auto count : received.recv_counts) EXPECT_EQ(count, 0);
  const auto rows = static_cast<std::int64_t>(received.recv_counts.size()) * received.tokens_per_rank;
  const auto* ids = reinterpret_cast<const std::int32_t*>(received.topk_ids.data);
  for (std::int64_t i = 0; i < rows * top_k; ++i) ASSERT_EQ(ids[i], -1) << "id " << i;
}

void expect_nan(token_batch& batch, std::size_t hidden_size) {
  const auto* output = batch.output_row(0);
  for (std::size_t i = 0; i < batch.num_tokens() * hidden_size; ++i) ASSERT_EQ(output[i], 0x7FFF) << "element " << i;
}

TEST(fault, a_rank_that_never_comes_is_named_within_the_deadline) {
  const auto timeout = std::chrono::milliseconds(300);
  auto options = fault_group(3, timeout);
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    if (rank == 1) return;
    token_batch batch(rank, options.params, some_ids);
    const auto start = clock::now();
    const auto [received, combined] = enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    const auto took = clock::now() - start;
    EXPECT_LT(took, timeout + std::chrono::seconds(2));
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->phase, phase::dispatch);
    EXPECT_EQ(fault->rank, 1);
    EXPECT_TRUE(contains(fault->missing, 1));
    EXPECT_FALSE(contains(fault->missing, rank));
    EXPECT_EQ(fault->timeout_ns, static_cast<std::uint64_t>(std::chrono::nanoseconds(timeout).count()));
    if (fault->from_notice == 0) {  // else the other rank began, and gave up, a little earlier
      EXPECT_GE(took, timeout);
      EXPECT_GE(fault->waited_ns, fault->timeout_ns);
    }
    expect_cleared(received, 2);
    if (combined) expect_nan(batch, 8);
    EXPECT_THROW(group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank)), peer_fault);
  });
}

TEST(fault, a_rank_that_skips_combine_is_named) {
  auto options = fault_group(2, std::chrono::milliseconds(300));
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params, some_ids);
    if (rank == 0) {
      (void)group.instance(0).dispatch(batch.inputs(), {}, group.stream(0));
      group.stream(0).synchronize();
      EXPECT_FALSE(group.instance(0).status());
      return;
    }
    (void)enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->phase, phase::combine);
    EXPECT_EQ(fault->rank, 0);
    expect_nan(batch, 8);
  });
  // The rank that was late learns of it at its next phase.
  token_batch batch(0, options.params, some_ids);
  const auto buffer = group.instance(0).combine_input_buffer(dtype::bf16);
  group.instance(0).combine({buffer.data, 8, dtype::bf16}, batch.output(), group.stream(0));
  group.stream(0).synchronize();
  const auto fault = group.instance(0).status();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->from_notice, 1);
  EXPECT_EQ(fault->origin, 1);
  expect_nan(batch, 8);
}

TEST(fault, an_argument_error_and_abort_free_the_peers_at_once) {
  auto options = fault_group(3, std::chrono::seconds(60));
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    token_batch batch(rank, options.params, some_ids);
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      auto inputs = batch.inputs();
      inputs.hidden_states.row_bytes = 17;
      EXPECT_THROW(group.instance(2).dispatch(inputs, {}, group.stream(2)), invalid_argument);
      group.instance(2).abort("bad input");
      try {
        (void)group.instance(2).dispatch(batch.inputs(), {}, group.stream(2));
        ADD_FAILURE() << "a poisoned workspace took a dispatch";
      } catch (const peer_fault& e) {
        EXPECT_EQ(e.record().code, fault_code::aborted);
        EXPECT_NE(std::string(e.what()).find("bad input"), std::string::npos) << e.what();
      }
      return;
    }
    const auto start = clock::now();
    const auto [received, combined] = enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    EXPECT_LT(clock::now() - start, std::chrono::seconds(10));
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::aborted);
    EXPECT_EQ(fault->rank, 2);
    EXPECT_EQ(fault->origin, 2);
    EXPECT_EQ(fault->from_notice, 1);
    expect_cleared(received, 2);
    if (combined) expect_nan(batch, 8);
  });
}

/// Each rank declares a step of its own; both must see field and values, long before the deadline.
struct disagreement {
  const char* name;
  step_field field;
  std::uint64_t rank0;
  std::uint64_t rank1;
  void (*declare)(int rank, dispatch_inputs& inputs, dispatch_options& options);
};

class step_mismatch : public testing::TestWithParam<disagreement> {};

TEST_P(step_mismatch, is_seen_by_both_ranks_with_field_and_values) {
  const auto& what = GetParam();
  auto options = fault_group(2, std::chrono::seconds(60));
  options.config.extra_payload_bytes_per_token = 16;
  host_group group(options);
  test::aligned_bytes spare(4096);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params, some_ids);
    auto inputs = batch.inputs();
    inputs.topk_weights = {spare.as<void>(), 8, true};
    inputs.extra = {spare.as<void>(), 16, true};
    dispatch_options chosen;
    what.declare(rank, inputs, chosen);
    const auto start = clock::now();
    const auto received = group.instance(rank).dispatch(inputs, chosen, group.stream(rank));
    group.stream(rank).synchronize();
    EXPECT_LT(clock::now() - start, std::chrono::seconds(10));
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::step_mismatch) << "rank " << rank;
    EXPECT_EQ(fault->rank, 1 - rank);
    EXPECT_EQ(fault->field, what.field) << to_string(fault->field);
    EXPECT_EQ(fault->expected, rank == 0 ? what.rank0 : what.rank1);
    EXPECT_EQ(fault->actual, rank == 0 ? what.rank1 : what.rank0);
    expect_cleared(received, 2);
  });
}

INSTANTIATE_TEST_SUITE_P(fields, step_mismatch,
                         testing::Values(disagreement{"runtime_max_tokens", step_field::runtime_max_tokens_per_rank, 5,
                                                      70,
                                                      [](int rank, dispatch_inputs&, dispatch_options& options) {
                                                        options.runtime_max_tokens_per_rank = rank == 0 ? 5 : 70;
                                                      }},
                                         disagreement{"payload_set", step_field::payload_set, 0b10011, 0b10111,
                                                      [](int rank, dispatch_inputs& inputs, dispatch_options&) {
                                                        if (rank == 0) inputs.topk_weights.present = false;
                                                      }},
                                         disagreement{"hidden_row_bytes", step_field::hidden_states_row_bytes, 16, 8,
                                                      [](int rank, dispatch_inputs& inputs, dispatch_options&) {
                                                        if (rank == 1) inputs.hidden_states.row_bytes = 8;
                                                      }},
                                         disagreement{"weights_row_bytes", step_field::topk_weights_row_bytes, 8, 4,
                                                      [](int rank, dispatch_inputs& inputs, dispatch_options&) {
                                                        if (rank == 1) inputs.topk_weights.row_bytes = 4;
                                                      }},
                                         disagreement{"extra_row_bytes", step_field::extra_row_bytes, 3, 16,
                                                      [](int rank, dispatch_inputs& inputs, dispatch_options&) {
                                                        if (rank == 0) inputs.extra.row_bytes = 3;
                                                      }}),
                         [](const auto& one) { return one.param.name; });

TEST(fault, combine_of_another_width_is_a_step_mismatch) {
  auto options = fault_group(2, std::chrono::seconds(60));
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params, some_ids);
    auto& instance = group.instance(rank);
    const auto received = instance.dispatch(batch.inputs(), {}, group.stream(rank));
    auto experts = test::identity_experts(instance, received, group.stream(rank));
    if (rank == 1) experts.hidden_size = 4;
    instance.combine(experts, batch.output(), group.stream(rank));
    group.stream(rank).synchronize();
    const auto fault = instance.status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::step_mismatch);
    EXPECT_EQ(fault->phase, phase::combine);
    EXPECT_EQ(fault->field, step_field::combine_hidden_size);
    EXPECT_EQ(fault->expected, rank == 0 ? 8U : 4U);
    EXPECT_EQ(fault->actual, rank == 0 ? 4U : 8U);
    expect_nan(batch, rank == 0 ? 8 : 4);
  });
}

TEST(fault, no_tokens_with_everything_declared_is_no_mismatch) {
  auto options = fault_group(2, std::chrono::seconds(20));
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    token_batch batch(rank, options.params, rank == 0 ? some_ids : std::vector<std::vector<std::int32_t>>{});
    test::aligned_bytes weights(64);
    auto inputs = batch.inputs();
    inputs.topk_weights = {rank == 0 ? weights.as<void>() : nullptr, 8, true};
    (void)group.instance(rank).dispatch(inputs, {}, group.stream(rank));
    group.stream(rank).synchronize();
    EXPECT_FALSE(group.instance(rank).status());
  });
}

TEST(fault, destroy_while_peers_wait_leaves_them_their_memory) {
  auto options = fault_group(2, std::chrono::milliseconds(200));
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    if (rank == 1) {
      group.destroy(1);
      return;
    }
    token_batch batch(rank, options.params, some_ids);
    (void)enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    ASSERT_TRUE(group.instance(rank).status());
    EXPECT_EQ(group.instance(rank).status()->rank, 1);
  });
}

TEST(fault, warm_up_has_a_deadline_of_its_own) {
  auto options = fault_group(2, std::chrono::milliseconds(100));
  options.config.warmup_timeout = std::chrono::seconds(30);
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    token_batch first(rank, options.params, some_ids);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    (void)enqueue_step(group, rank, first);
    group.stream(rank).synchronize();
    ASSERT_FALSE(group.instance(rank).status()) << "the first step may take longer than the timeout";
  });
  token_batch second(0, options.params, some_ids);
  (void)enqueue_step(group, 0, second);
  group.stream(0).synchronize();
  ASSERT_TRUE(group.instance(0).status());
  EXPECT_EQ(group.instance(0).status()->timeout_ns, 100'000'000U);
}

}  // namespace
}  // namespace switchyard
