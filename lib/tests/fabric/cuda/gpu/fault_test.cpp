// SPDX-License-Identifier: Apache-2.0
// Ranks that are late, absent, or of another opinion, on one GPU: named, bounded in time, and the context lives.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "cuda_group.hpp"

namespace switchyard {
namespace {

using test::cuda_group;
using test::expect_as_on_host;
using test::on_every_rank;
using test::small_exchange;
using clock = std::chrono::steady_clock;

class gpu_fault : public test::gpu_test<1> {
 protected:
  /// All ids are invalid and all counts 0.
  static void expect_cleared(const test::cuda_step& step) {
    const auto* ids = reinterpret_cast<const std::int32_t*>(step.view(1).data());
    for (std::size_t i = 0; i < step.view(1).size() / 4; ++i) ASSERT_EQ(ids[i], -1) << "id " << i;
    for (const auto count : step.outcome().counts) EXPECT_EQ(count, 0);
  }
  static void expect_nan(const test::cuda_step& step) {
    const auto bytes = step.output_bytes();
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
      ASSERT_EQ(std::to_integer<int>(bytes[i]) | std::to_integer<int>(bytes[i + 1]) << 8, 0x7FFF)
          << "element " << i / 2;
    }
  }
  /// A dispatch, and where it has not failed yet, its combine; waits for both.
  static void one_step(cuda_group& group, const test::exchange& shape, int rank, int seed) {
    auto& mine = group.step(rank);
    mine.upload(make_inputs(shape, rank, seed), group.stream(rank));
    mine.dispatch(group.instance(rank), group.stream(rank));
    mine.download_views(group.stream(rank));
    try {
      mine.combine(group.instance(rank), group.stream(rank));
      mine.download_output(group.stream(rank));
    } catch (const peer_fault&) {  // the dispatch has failed already
    }
    group.synchronize(rank);
  }
};

TEST_F(gpu_fault, a_late_rank_is_waited_for) {
  const auto shape = small_exchange(3);
  const auto should_be = run_on_host(shape, 1);
  cuda_group group(shape, 1);
  on_every_rank(3, [&](int rank) {
    group.make_current(rank);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    one_step(group, shape, rank, 0);
    ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank;
    expect_same(group.step(rank).outcome(), should_be[0][static_cast<std::size_t>(rank)], shape,
                "rank " + std::to_string(rank));
  });
}

TEST_F(gpu_fault, an_absent_rank_is_named_and_the_context_lives) {
  auto shape = small_exchange(3);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::milliseconds(500);
  {
    cuda_group group(shape, 1);
    on_every_rank(3, [&](int rank) {
      if (rank == 1) return;
      group.make_current(rank);
      const auto start = clock::now();
      one_step(group, shape, rank, 1);
      EXPECT_LT(clock::now() - start, std::chrono::seconds(3));
      const auto fault = group.instance(rank).status();
      ASSERT_TRUE(fault) << "rank " << rank;
      EXPECT_EQ(fault->code, fault_code::timeout);
      EXPECT_EQ(fault->phase, phase::dispatch);
      EXPECT_EQ(fault->rank, 1);
      EXPECT_TRUE(contains(fault->missing, 1));
      EXPECT_FALSE(contains(fault->missing, rank));
      EXPECT_EQ(fault->timeout_ns, 500'000'000U);
      if (fault->from_notice == 0) {
        EXPECT_GE(fault->waited_ns, fault->timeout_ns);
      }
      expect_cleared(group.step(rank));
      EXPECT_THROW((void)group.step(rank).dispatch(group.instance(rank), group.stream(rank)), peer_fault);
    });
  }
  expect_as_on_host(small_exchange(3), 1, 2);
}

TEST_F(gpu_fault, a_failed_combine_is_no_result) {
  auto shape = small_exchange(2);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::milliseconds(500);
  cuda_group group(shape, 1);
  on_every_rank(2, [&](int rank) {
    group.make_current(rank);
    auto& mine = group.step(rank);
    mine.upload(make_inputs(shape, rank, rank == 0 ? 4 : 3), group.stream(rank));
    mine.dispatch(group.instance(rank), group.stream(rank));
    if (rank == 0) {
      mine.combine(group.instance(rank), group.stream(rank));
      mine.download_output(group.stream(rank));
    }
    group.synchronize(rank);
  });
  const auto fault = group.instance(0).status();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, fault_code::timeout);
  EXPECT_EQ(fault->phase, phase::combine);
  EXPECT_EQ(fault->rank, 1);
  expect_nan(group.step(0));
}

TEST_F(gpu_fault, a_mismatch_is_seen_by_both_with_field_and_values) {
  auto shape = small_exchange(2);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(10);
  auto other = shape;
  other.tokens_per_rank = 33;
  cuda_group group(shape, 1);
  const auto start = clock::now();
  on_every_rank(2, [&](int rank) {
    group.make_current(rank);
    auto& mine = group.step(rank);
    mine.upload(make_inputs(other, rank, 0), group.stream(rank));
    auto inputs = mine.inputs();
    (void)group.instance(rank).dispatch(inputs, {rank == 0 ? 33 : 70}, group.stream(rank));
    group.synchronize(rank);
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::step_mismatch) << "rank " << rank;
    EXPECT_EQ(fault->rank, 1 - rank);
    EXPECT_EQ(fault->field, step_field::runtime_max_tokens_per_rank) << to_string(fault->field);
    EXPECT_EQ(fault->expected, rank == 0 ? 33U : 70U);
    EXPECT_EQ(fault->actual, rank == 0 ? 70U : 33U);
  });
  EXPECT_LT(clock::now() - start, std::chrono::seconds(5)) << "seen long before the deadline";
}

TEST_F(gpu_fault, abort_frees_peers_that_wait) {
  auto shape = small_exchange(3);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(15);
  cuda_group group(shape, 1);
  on_every_rank(3, [&](int rank) {
    group.make_current(rank);
    const auto start = clock::now();
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      group.instance(2).abort("a reason");
      try {
        (void)group.step(2).dispatch(group.instance(2), group.stream(2));
        ADD_FAILURE() << "a poisoned workspace took a dispatch";
      } catch (const peer_fault& e) {
        EXPECT_EQ(e.record().code, fault_code::aborted);
        EXPECT_NE(std::string(e.what()).find("a reason"), std::string::npos) << e.what();
      }
      return;
    }
    one_step(group, shape, rank, 1);
    EXPECT_LT(clock::now() - start, std::chrono::seconds(5));
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::aborted);
    EXPECT_EQ(fault->rank, 2);
    EXPECT_EQ(fault->origin, 2);
    EXPECT_EQ(fault->from_notice, 1);
    expect_cleared(group.step(rank));
  });
}

TEST_F(gpu_fault, a_replay_on_a_poisoned_workspace_keeps_the_first_record) {
  auto shape = small_exchange(2);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::milliseconds(300);
  cuda_group group(shape, 1);
  group.make_current(0);
  auto& mine = group.step(0);
  const auto stream = group.stream(0);
  mine.upload(make_inputs(shape, 0, 0), stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  test::check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  mine.dispatch(group.instance(0), stream);
  mine.download_views(stream);
  mine.combine(group.instance(0), stream);
  mine.download_output(stream);
  test::check_cuda(cudaStreamEndCapture(stream, &graph));
  test::check_cuda(cudaGraphInstantiate(&replay, graph, 0));
  fault_record first;
  for (int launch = 0; launch < 3; ++launch) {
    const auto start = clock::now();
    test::check_cuda(cudaGraphLaunch(replay, stream));
    group.synchronize(0);
    const auto fault = group.instance(0).status();
    ASSERT_TRUE(fault);
    if (launch == 0) first = *fault;
    EXPECT_EQ(fault->waited_ns, first.waited_ns);
    EXPECT_EQ(fault->phase, phase::dispatch);
    expect_cleared(mine);
    expect_nan(mine);
    if (launch > 0) {
      EXPECT_LT(clock::now() - start, std::chrono::milliseconds(200)) << "a replay waited";
    }
  }
  test::check_cuda(cudaGraphExecDestroy(replay));
  test::check_cuda(cudaGraphDestroy(graph));
}

TEST_F(gpu_fault, destroy_while_peers_wait_leaves_them_their_memory) {
  auto shape = small_exchange(2);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(1);
  cuda_group group(shape, 1);
  on_every_rank(2, [&](int rank) {
    group.make_current(rank);
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      group.instance(1).destroy();
      return;
    }
    one_step(group, shape, 0, 0);
    const auto fault = group.instance(0).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->rank, 1);
  });
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(gpu_fault, b25_two_hundred_groups_leave_no_memory_and_no_descriptor) {
  const auto shape = small_exchange(2);
  std::size_t free_before = 0;
  std::size_t descriptors_before = 0;
  for (int round = 0; round < 203; ++round) {
    {
      cuda_group group(shape, 1);
      on_every_rank(2, [&](int rank) {
        group.make_current(rank);
        one_step(group, shape, rank, round);
        ASSERT_FALSE(group.instance(rank).status()) << "round " << round;
      });
    }
    std::size_t free_now = 0;
    std::size_t total = 0;
    test::check_cuda(cudaMemGetInfo(&free_now, &total));
    if (round < 3) {  // pools and kernels settle
      free_before = free_now;
      descriptors_before = open_descriptors();
    }
    ASSERT_GE(free_now + (1U << 21), free_before) << "round " << round;
    ASSERT_LE(open_descriptors(), descriptors_before) << "round " << round;
  }
}

}  // namespace
}  // namespace switchyard
