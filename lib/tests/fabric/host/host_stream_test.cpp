// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <thread>
#include <vector>

#include "switchyard/spec/errors.hpp"
#include "switchyard/stream.hpp"

namespace switchyard {
namespace {

TEST(host_stream, runs_items_in_order_and_blocks_concurrently) {
  host_stream stream(3);
  std::vector<int> order;  // touched by one item at a time
  std::atomic<int> here{0};
  for (int item = 0; item < 50; ++item) {
    stream.enqueue([&order, item] { order.push_back(item); });
    // Three blocks that wait for one another can only end when all three run.
    stream.launch(3, [&here, item](int) {
      here.fetch_add(1);
      while (here.load() < 3 * (item + 1)) std::this_thread::yield();
    });
  }
  stream.synchronize();
  ASSERT_EQ(order.size(), 50U);
  for (int item = 0; item < 50; ++item) EXPECT_EQ(order[static_cast<std::size_t>(item)], item);
}

TEST(host_stream, one_worker_runs_every_block_of_a_launch_in_order) {
  host_stream stream(1);
  std::vector<int> blocks;
  stream.launch(7, [&](int block) { blocks.push_back(block); });
  stream.synchronize();
  EXPECT_EQ(blocks, (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(host_stream, an_item_begins_when_all_blocks_of_the_one_before_have_ended) {
  host_stream stream(4);
  std::atomic<int> ended{0};
  for (int item = 0; item < 100; ++item) {
    stream.launch(4, [&](int) { ended.fetch_add(1); });
    stream.enqueue([&ended, item] { EXPECT_EQ(ended.load(), 4 * (item + 1)); });
  }
  stream.synchronize();
}

TEST(host_stream, the_destructor_finishes_what_is_queued) {
  std::atomic<int> ran{0};
  {
    host_stream stream(2);
    for (int i = 0; i < 100; ++i) stream.launch(2, [&](int) { ran.fetch_add(1); });
  }
  EXPECT_EQ(ran.load(), 200);
}

TEST(host_stream, a_task_may_enqueue_more) {
  host_stream stream(1);
  std::atomic<int> ran{0};
  stream.enqueue([&] { stream.enqueue([&] { ran.fetch_add(1); }); });
  while (ran.load() == 0) std::this_thread::yield();
  stream.synchronize();
  EXPECT_EQ(ran.load(), 1);
}

TEST(host_stream, workers_round_as_the_contract_says_whatever_the_creator_does) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  host_stream stream(2);
  std::atomic<int> default_rounding{0};
  stream.launch(2, [&](int) { default_rounding.fetch_add(std::fegetround() == FE_TONEAREST ? 1 : 0); });
  stream.synchronize();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(default_rounding.load(), 2);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // both need address space of their own
TEST(host_stream, threads_that_cannot_be_started_are_an_error_not_the_end) {
  const auto start_too_many = [] {
    rlimit tight;
    tight.rlim_cur = tight.rlim_max = rlim_t{512} << 20;  // 256 stacks do not fit
    setrlimit(RLIMIT_AS, &tight);
    try {
      const host_stream stream(256);
    } catch (const out_of_memory&) {
      std::_Exit(7);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(7), "");
}
#endif

TEST(host_stream, refuses_impossible_sizes) {
  EXPECT_THROW(host_stream(0), invalid_argument);
  EXPECT_THROW(host_stream(257), invalid_argument);
  host_stream stream;
  EXPECT_EQ(stream.num_workers(), 1);
  EXPECT_THROW(stream.launch(0, [](int) {}), invalid_argument);
}

}  // namespace
}  // namespace switchyard
