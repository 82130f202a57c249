// SPDX-License-Identifier: Apache-2.0
// A fabric that errs on request does so where it was told to and nowhere else, and what peers record says so.
#include "injection/faulty_fabric.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "injection/injecting_host_fabric.hpp"
#include "support/host_group.hpp"

namespace switchyard::injection {
namespace {

test::group_options three_ranks() {
  test::group_options options;
  options.ep_size = 3;
  options.params = {.num_experts = 6, .top_k = 2, .max_tokens_per_rank = 4, .hidden_size = 8};
  options.config.timeout = std::chrono::seconds(30);
  options.config.warmup_timeout = options.config.timeout;
  return options;
}

/// Two steps, of which rank 1 sends one header wrongly; what each rank recorded.
std::vector<std::optional<fault_record>> records_after(const wrong_header& wrong, choice lamport = choice::automatic) {
  auto options = three_ranks();
  options.config.lamport = lamport;
  options.make_fabric = [&](int rank) {
    return rank == 1 ? make_faulty_fabric(fabric_kind::host, std::make_shared<launch_switch>(), wrong) : nullptr;
  };
  test::host_group group(options);
  std::vector<std::optional<fault_record>> records(3);
  test::on_every_rank(3, [&](int rank) {
    for (int step = 0; step < 2 && !group.instance(rank).status(); ++step) {
      test::token_batch batch(rank, options.params, {{0, 3}, {5, 2}});
      (void)test::enqueue_step(group, rank, batch);
      group.stream(rank).synchronize();
    }
    records[static_cast<std::size_t>(rank)] = group.instance(rank).status();
  });
  return records;
}

TEST(faulty_fabric, a_header_in_the_other_slot_is_an_order_mismatch) {
  for (const auto which : {phase::dispatch, phase::combine}) {
    const auto records = records_after({0, which, header_change::other_slot});
    for (const std::size_t rank : {0U, 2U}) {
      ASSERT_TRUE(records[rank]) << "rank " << rank;
      EXPECT_EQ(records[rank]->code, fault_code::order_mismatch);
      EXPECT_EQ(records[rank]->phase, which);
      EXPECT_EQ(records[rank]->rank, 1);
    }
  }
}

TEST(faulty_fabric, a_wrong_word_is_named_with_both_values_in_the_step_asked_for) {
  for (const auto lamport : {choice::off, choice::automatic}) {
    const auto records = records_after({1, phase::dispatch, header_change::bits, step_field::transport}, lamport);
    for (const std::size_t rank : {0U, 2U}) {
      ASSERT_TRUE(records[rank]) << "rank " << rank;
      EXPECT_EQ(records[rank]->code, fault_code::step_mismatch);
      EXPECT_EQ(records[rank]->field, step_field::transport);
      EXPECT_EQ(records[rank]->epoch, 3U);
      EXPECT_EQ(records[rank]->rank, 1);
      EXPECT_EQ(records[rank]->from_notice, 0);
      EXPECT_EQ(records[rank]->expected ^ records[rank]->actual, wrong_bits);
    }
  }
}

TEST(faulty_fabric, a_wrong_digest_alone_contradicts_itself) {
  const auto records = records_after({0, phase::combine, header_change::bits, step_field::none});
  ASSERT_TRUE(records[0]);
  EXPECT_EQ(records[0]->code, fault_code::bad_header);
  EXPECT_EQ(records[0]->rank, 1);
}

TEST(faulty_fabric, a_launch_left_out_makes_the_next_one_out_of_order) {
  auto options = three_ranks();
  const auto launches = std::make_shared<launch_switch>();
  options.make_fabric = [&](int rank) {
    return rank == 1 ? make_faulty_fabric(fabric_kind::host, launches, std::nullopt) : nullptr;
  };
  test::host_group group(options);
  test::on_every_rank(3, [&](int rank) {
    test::token_batch batch(rank, options.params, {{0, 3}, {5, 2}});
    if (rank == 1) launches->leave_out(true);
    const auto received = group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank));
    if (rank == 1) launches->leave_out(false);
    const auto buffer = group.instance(rank).combine_input_buffer(dtype::bf16);
    if (rank == 1) group.instance(rank).combine({buffer.data, 8, dtype::bf16}, batch.output(), group.stream(rank));
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::out_of_order);
    EXPECT_EQ(fault->rank, 1);
    EXPECT_EQ(fault->phase, rank == 1 ? phase::combine : phase::dispatch);
    EXPECT_EQ(fault->from_notice, rank == 1 ? 0 : 1);
    EXPECT_EQ(received.tokens_per_rank, 4);
  });
}

// Rank 1 is told of the mismatch by rank 0, long before the header of rank 2, whom it is about, has come.
TEST(step_mismatch, is_no_hearsay_at_a_rank_that_is_told_before_it_can_see) {
  auto options = three_ranks();
  const auto layout = layout::make_layout({.ep_size = 3, .top_k = 2, .max_tokens = 4});
  const auto digest = layout.header_offset(phase::dispatch, 0, 2) - layout.offset_of(layout::region::headers);
  const auto slow = std::make_shared<injector>(mutation{.op = operation::post,
                                                        .what = effect::delay,
                                                        .amount = 20'000,
                                                        .region = layout::region::headers,
                                                        .offset = digest,
                                                        .rank = 2,
                                                        .peer = 1});
  options.make_fabric = [&](int) { return make_injecting_host_fabric(slow); };
  test::host_group group(options);
  test::on_every_rank(3, [&](int rank) {
    test::token_batch batch(rank, options.params, {{0, 3}, {5, 2}});
    dispatch_options chosen;
    chosen.runtime_max_tokens_per_rank = rank == 2 ? 3 : 4;
    (void)group.instance(rank).dispatch(batch.inputs(), chosen, group.stream(rank));
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::step_mismatch);
    EXPECT_EQ(fault->from_notice, 0) << "rank " << rank;
    EXPECT_EQ(fault->field, step_field::runtime_max_tokens_per_rank);
    EXPECT_EQ(fault->expected, rank == 2 ? 3U : 4U);
    EXPECT_EQ(fault->actual, rank == 2 ? 4U : 3U);
    EXPECT_TRUE(rank == 2 || fault->rank == 2) << "rank " << rank;
  });
}

TEST(faulty_fabric, headers_are_changed_on_the_host_fabric_only) {
  EXPECT_THROW(make_faulty_fabric(fabric_kind::cuda, std::make_shared<launch_switch>(), wrong_header{}), unsupported);
}

}  // namespace
}  // namespace switchyard::injection
