// SPDX-License-Identifier: Apache-2.0
// The fault notice: with it, a rank that cannot see a fault leaves as soon as another has; without it (the mutant) it
// waits for its own deadline.
#include <gtest/gtest.h>

#include <chrono>

#include "injection/injecting_host_fabric.hpp"
#include "support/host_group.hpp"

namespace switchyard::injection {
namespace {

/// Rank 1 gets a damaged header of rank 0; rank 2 sees nothing wrong. What rank 2 records, and how long it took.
struct outcome {
  fault_record record;
  std::chrono::steady_clock::duration took{};
};

outcome rank_2_after_damage_at_rank_1(bool notices_lost) {
  test::group_options options;
  options.ep_size = 3;
  options.params = {.num_experts = 6, .top_k = 2, .max_tokens_per_rank = 4, .hidden_size = 8};
  options.config.timeout = std::chrono::seconds(2);
  options.config.warmup_timeout = options.config.timeout;
  options.config.lamport = choice::off;  // whose headers have a count of rows
  const auto layout = layout::make_layout({.ep_size = 3, .top_k = 2, .max_tokens = 4});
  const auto row_count = layout.header_offset(phase::dispatch, 0, 0) + 8 - layout.offset_of(layout::region::headers);
  const auto damage = std::make_shared<injector>(mutation{.op = operation::post,
                                                          .what = effect::corrupt,
                                                          .amount = 2,
                                                          .region = layout::region::headers,
                                                          .offset = row_count,
                                                          .peer = 1});
  const auto silence = std::make_shared<injector>(mutation{.op = operation::post,
                                                           .what = effect::drop,
                                                           .region = layout::region::notice,
                                                           .at_most = notices_lost ? ~std::uint64_t{0} : 0});
  options.make_fabric = [&](int) { return make_injecting_host_fabric(damage, silence); };
  test::host_group group(options);
  outcome result;
  test::on_every_rank(3, [&](int rank) {
    test::token_batch batch(rank, options.params, {{0, 3}, {5, 2}});
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    const auto start = std::chrono::steady_clock::now();
    (void)test::enqueue_step(group, rank, batch);
    stream.synchronize();
    ASSERT_TRUE(instance.status()) << "rank " << rank;
    if (rank == 2) result = {*instance.status(), std::chrono::steady_clock::now() - start};
  });
  return result;
}

TEST(notice, frees_a_rank_that_cannot_see_the_fault) {
  const auto result = rank_2_after_damage_at_rank_1(false);
  EXPECT_EQ(result.record.code, fault_code::bad_header);
  EXPECT_EQ(result.record.from_notice, 1);
  EXPECT_EQ(result.record.origin, 1);
  EXPECT_EQ(result.record.rank, 0);
  EXPECT_LT(result.took, std::chrono::milliseconds(1500));
}

TEST(notice, lost_leaves_that_rank_to_its_deadline) {
  const auto result = rank_2_after_damage_at_rank_1(true);
  EXPECT_EQ(result.record.code, fault_code::timeout);
  EXPECT_GE(result.took, std::chrono::seconds(2));
}

}  // namespace
}  // namespace switchyard::injection
