// SPDX-License-Identifier: Apache-2.0
// What becomes of words of all ones when the word that names them is wrong or lost: outputs of any bits, which the
// simulated experts of the harness do not have.
#include <gtest/gtest.h>

#include <chrono>

#include "injection/injecting_host_fabric.hpp"
#include "support/exchange.hpp"

namespace switchyard::injection {
namespace {

/// Outputs that are not as they must be, in steps of hard words of whose exceptions in `where` so many say that the
/// other word of the unit was meant.
std::size_t wrong_outputs(layout::region where, std::uint64_t at_most, std::uint64_t& matches) {
  constexpr int steps = 6;
  auto shape = test::small_exchange(3);
  shape.config.extra_payload_bytes_per_token = 0;
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(20);
  shape.tokens_per_rank = 24;
  shape.row_bytes[4] = 0;
  shape.hard_words = true;
  shape.experts_by_token = true;
  auto by_fence = shape;
  by_fence.config.lamport = choice::off;
  const auto should_be = test::run_on_host(by_fence, steps);
  const auto plan = std::make_shared<injector>(mutation{
      .op = operation::list_exception, .what = effect::corrupt, .amount = 3, .region = where, .at_most = at_most});
  shape.make_fabric = [plan](int) { return make_injecting_host_fabric(plan); };
  const auto is = test::run_on_host(shape, steps);
  matches = plan->matches();
  std::size_t wrong = 0;
  for (std::size_t step = 0; step < is.size(); ++step) {
    for (std::size_t rank = 0; rank < is[step].size(); ++rank) {
      wrong += is[step][rank].output == should_be[step][rank].output ? 0U : 1U;
    }
  }
  return wrong;
}

TEST(lamport_mutant, an_exception_of_an_output_that_names_another_word_shows) {
  std::uint64_t matches = 0;
  EXPECT_GT(wrong_outputs(layout::region::lamport_combine_inbox, ~std::uint64_t{0}, matches), 0U);
  EXPECT_GT(matches, 0U) << "no output had a word of all ones";
  EXPECT_EQ(wrong_outputs(layout::region::lamport_combine_inbox, 0, matches), 0U);
}

/// A group of three of which rank 0 loses its words for rank 1 in `where`; what rank 1 records.
fault_record record_of_rank_1(layout::region where) {
  auto options = test::small_exchange(3).group();
  options.config.timeout = options.config.warmup_timeout = std::chrono::milliseconds(300);
  options.config.lamport_max_tokens = 70;
  options.params.max_tokens_per_rank = 70;
  options.params.dispatch_format.reset();  // rows of bf16
  const auto plan = std::make_shared<injector>(
      mutation{.op = operation::send_word, .what = effect::drop, .region = where, .rank = 0, .peer = 1});
  options.make_fabric = [plan](int) { return make_injecting_host_fabric(plan); };
  test::host_group group(options);
  fault_record record;
  test::on_every_rank(3, [&](int rank) {
    // Every token goes to every rank: experts 0, 5 and 10 are of ranks 0, 1 and 2.
    test::token_batch batch(rank, options.params, {{0, 5, 10, -1}, {10, 5, 0, -1}});
    // Whoever goes on to the next phase has a deadline there that may end first.
    if (rank != 1 && where == layout::region::lamport_dispatch_inbox) {
      (void)group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank));
    } else {
      (void)test::enqueue_step(group, rank, batch);
    }
    group.stream(rank).synchronize();
    if (rank != 1) return;
    ASSERT_TRUE(group.instance(rank).status());
    record = *group.instance(rank).status();
  });
  return record;
}

TEST(lamport_mutant, who_is_waited_for_is_named) {
  for (const auto where : {layout::region::lamport_dispatch_inbox, layout::region::lamport_combine_inbox}) {
    const auto record = record_of_rank_1(where);
    EXPECT_EQ(record.code, fault_code::timeout);
    EXPECT_EQ(record.phase, where == layout::region::lamport_dispatch_inbox ? phase::dispatch : phase::combine);
    EXPECT_EQ(record.rank, 0);
    EXPECT_EQ(record.from_notice, 0);
    EXPECT_EQ(record.awaited, awaited::rows);
    EXPECT_TRUE(contains(record.missing, 0));
    EXPECT_FALSE(contains(record.missing, 2));
  }
}

}  // namespace
}  // namespace switchyard::injection
