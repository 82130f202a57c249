// SPDX-License-Identifier: Apache-2.0
// A block of a Lamport phase that looks for poison before its claim is seen: the two go to memory together, and on a
// GPU either may be the first there. abort() comes between, and the other blocks find the workspace poisoned. What they
// have cleared must stay so.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "fabric/host/host_fabric.hpp"
#include "protocol/transports.hpp"
#include "support/survivors.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::how;
using test::spread_ids;

constexpr int num_blocks = 3;  ///< two workers and a clerk
constexpr std::uint32_t early_one = 1;

/// A block whose first looks at the poison and at the notice find what was there when it was made.
class early_block : public host::host_block {
 public:
  early_block(const host::host_block& same, const protocol::workspace_handle& ws)
      : host::host_block(same),
        poison_at_(&ws.round().poison),
        notice_at_(&ws.notice().word),
        poison_(host::host_block::load_u32(&ws.round().poison)),
        notice_(host::host_block::poll(&ws.notice().word)) {}

  std::uint32_t load_u32(std::uint32_t* word) {
    if (word != poison_at_) return host::host_block::load_u32(word);
    poison_at_ = nullptr;
    return poison_;
  }
  std::uint64_t poll(const std::uint64_t* word) {
    if (word != notice_at_) return host::host_block::poll(word);
    notice_at_ = nullptr;
    return notice_;
  }

 private:
  std::uint32_t* poison_at_;
  const std::uint64_t* notice_at_;
  std::uint32_t poison_;
  std::uint64_t notice_;
};

/// Rank 0's blocks of one phase are let in one after the other.
class gates {
 public:
  /// From now on the phases of rank 0 stop at the door.
  void close() { closed_ = true; }
  void await_early_look() const {
    await([&] { return has_looked_.load(); });
  }
  void open_for_others() { others_may_ = true; }
  void await_others() const {
    await([&] { return others_left_ == num_blocks - 1; });
  }
  void open_for_early_one() { early_may_ = true; }

  template <class Params, class Run>
  void pass(host::host_block& block, const Params& params, Run run) {
    if (!closed_ || params.ws.rank != 0) return run(block);
    if (block.block_index() != early_one) {
      await([&] { return others_may_.load(); });
      run(block);
      ++others_left_;
      return;
    }
    early_block early(block, params.ws);
    has_looked_ = true;
    await([&] { return early_may_.load(); });
    run(early);
  }

 private:
  template <class Condition>
  static void await(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(100us);
  }

  std::atomic<bool> closed_{false};
  std::atomic<bool> has_looked_{false};
  std::atomic<bool> others_may_{false};
  std::atomic<bool> early_may_{false};
  std::atomic<int> others_left_{0};
};

struct gated_group {
  static test::group_options options_of(gates& doors) {
    auto options = test::options_of_survivors(how{choice::on, num_blocks}, 2);
    options.config.timeout = 20s;
    options.make_fabric = [&doors](int) {
      return host::make_host_fabric(
          {[&doors](host::host_block& block, const protocol::dispatch_params& params) {
             doors.pass(block, params, [&](auto& inner) { protocol::run_dispatch(inner, params); });
           },
           [&doors](host::host_block& block, const protocol::combine_params& params) {
             doors.pass(block, params, [&](auto& inner) { protocol::run_combine(inner, params); });
           }});
    };
    return options;
  }
  /// abort() between the early look and the others, who leave before the early one goes on. Rank 1, which nothing
  /// holds, has sent its part by then: else the early one would miss it, fail too, and clear once more.
  void abort_between(host_stream& stream) {
    doors.await_early_look();
    std::this_thread::sleep_for(50ms);
    group.instance(0).abort("between");
    doors.open_for_others();
    doors.await_others();
    doors.open_for_early_one();
    stream.synchronize();
  }

  gates doors;
  test::host_group group{options_of(doors)};
};

// Rank 1 has sent all that the early one waits for, so that this would succeed.
TEST(claim_and_poison, a_block_that_looked_early_stores_no_ids_behind_the_clearing) {
  gated_group all;
  auto& instance = all.group.instance(0);
  const auto ids = spread_ids(2, 8);
  test::token_batch batch_of_0(0, instance.params(), ids);
  test::token_batch batch_of_1(1, instance.params(), ids);
  all.doors.close();
  (void)all.group.instance(1).dispatch(batch_of_1.inputs(), {.runtime_max_tokens_per_rank = 8}, all.group.stream(1));
  const auto received = instance.dispatch(batch_of_0.inputs(), {.runtime_max_tokens_per_rank = 8}, all.group.stream(0));
  all.abort_between(all.group.stream(0));
  ASSERT_TRUE(instance.status());
  EXPECT_EQ(instance.status()->code, fault_code::aborted);
  const auto* views = reinterpret_cast<const std::int32_t*>(received.topk_ids.data);
  for (int i = 0; i < 2 * 8 * 4; ++i) EXPECT_EQ(views[i], -1) << "row " << i / 4;
  for (const auto count : received.recv_counts) EXPECT_EQ(count, 0);
  all.group.stream(1).synchronize();
}

TEST(claim_and_poison, a_block_that_looked_early_stores_no_sums_behind_the_nans) {
  gated_group all;
  const auto ids = spread_ids(2, 8);
  std::vector<test::token_batch> batches;
  std::vector<dispatch_result> received;
  for (int rank = 0; rank < 2; ++rank) batches.emplace_back(rank, all.group.instance(rank).params(), ids);
  for (int rank = 0; rank < 2; ++rank) {
    received.push_back(all.group.instance(rank).dispatch(batches[static_cast<std::size_t>(rank)].inputs(),
                                                         {.runtime_max_tokens_per_rank = 8}, all.group.stream(rank)));
  }
  for (int rank = 0; rank < 2; ++rank) all.group.stream(rank).synchronize();
  all.doors.close();
  for (const int rank : {1, 0}) {
    auto& instance = all.group.instance(rank);
    const auto place = static_cast<std::size_t>(rank);
    instance.combine(test::identity_experts(instance, received[place], all.group.stream(rank)), batches[place].output(),
                     all.group.stream(rank));
  }
  all.abort_between(all.group.stream(0));
  ASSERT_TRUE(all.group.instance(0).status());
  for (std::size_t token = 0; token < ids.size(); ++token) {
    for (int h = 0; h < 8; ++h) EXPECT_EQ(batches[0].output_row(token)[h], 0x7FFF) << "token " << token;
  }
  all.group.stream(1).synchronize();
}

}  // namespace
}  // namespace switchyard
