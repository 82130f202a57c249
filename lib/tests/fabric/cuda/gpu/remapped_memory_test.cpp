// SPDX-License-Identifier: Apache-2.0
// New memory behind the addresses that a captured graph knows: what recovery and restore stand on.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <vector>

#include "device_counters.hpp"
#include "fabric/cuda/symmetric_memory.hpp"
#include "gpu_test.hpp"
#include "test_kernels.hpp"

namespace switchyard::cuda {
namespace {

using test::check_cuda;

constexpr std::size_t words = 1 << 18;

class remapped_memory : public test::gpu_test<1> {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    test::load_test_kernels(1);
    api_ = load_driver().api;
    ASSERT_NE(api_, nullptr) << load_driver().reason;
    for (int rank = 0; rank < 2; ++rank) {
      ends_.push_back(std::make_unique<symmetric_memory>(*api_, 0, rank, 2, words * sizeof(std::uint32_t)));
    }
    wrong_ = std::make_unique<test::device_count>();
  }

  /// Backs both slices and lets each rank see the other's; `beside`, where there is one, sees that of rank 1 as well.
  void connect(symmetric_memory* beside = nullptr) {
    std::vector<slice_handle> handles;
    for (auto& end : ends_) {
      end->back(handle_kind::posix_descriptor);
      handles.push_back(end->export_slice());
    }
    ends_[0]->map_peer(1, handles[1]);
    ends_[1]->map_peer(0, handles[0]);
    if (beside != nullptr) beside->map_peer(1, handles[1]);
    for (auto& handle : handles) close_slice_handle(*api_, handle);
  }
  static std::uint32_t* words_of(const symmetric_memory& seen_by, int rank) {
    return reinterpret_cast<std::uint32_t*>(seen_by.slice(rank));
  }
  std::uint64_t wrong_words(const std::uint32_t* at, std::uint32_t seed) {
    const test::device_count wrong;
    test::launch_check_pattern(at, words, seed, wrong.get(), nullptr);
    check_cuda(cudaDeviceSynchronize());
    return wrong.value();
  }

  const driver_api* api_ = nullptr;
  std::vector<std::unique_ptr<symmetric_memory>> ends_;
  std::unique_ptr<test::device_count> wrong_;
};

TEST_F(remapped_memory, a_captured_graph_stores_into_the_new_memory_and_not_into_the_old) {
  // A third that maps the old memory keeps it alive, as a peer that was left behind does.
  symmetric_memory left_behind(*api_, 0, 0, 2, words * sizeof(std::uint32_t));
  connect(&left_behind);

  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  test::launch_pattern(words_of(*ends_[0], 1), words, 3, stream);                       // rank 0 stores to rank 1
  test::launch_pattern(words_of(*ends_[0], 0), words, 4, stream);                       // and to itself
  test::launch_check_pattern(words_of(*ends_[1], 1), words, 3, wrong_->get(), stream);  // as rank 1 sees it
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&replay, graph, 0));
  check_cuda(cudaGraphLaunch(replay, stream));
  check_cuda(cudaStreamSynchronize(stream));
  EXPECT_EQ(wrong_words(words_of(*ends_[1], 0), 4), 0U);
  EXPECT_EQ(wrong_words(words_of(left_behind, 1), 3), 0U);

  for (int round = 0; round < 20; ++round) {
    auto* const own = ends_[0]->slice(0);
    auto* const peers = ends_[0]->slice(1);
    for (auto& end : ends_) end->unback();
    connect();
    ASSERT_EQ(ends_[0]->slice(0), own);
    ASSERT_EQ(ends_[0]->slice(1), peers);
    test::launch_pattern(words_of(left_behind, 1), words, 99, nullptr);  // the old memory
    check_cuda(cudaMemset(ends_[1]->slice(1), 0, words * sizeof(std::uint32_t)));
    check_cuda(cudaMemset(ends_[1]->slice(0), 0, words * sizeof(std::uint32_t)));
    check_cuda(cudaDeviceSynchronize());
    check_cuda(cudaGraphLaunch(replay, stream));
    check_cuda(cudaStreamSynchronize(stream));
    ASSERT_EQ(wrong_words(words_of(*ends_[1], 1), 3), 0U) << "round " << round;
    ASSERT_EQ(wrong_words(words_of(*ends_[1], 0), 4), 0U) << "round " << round;
    ASSERT_EQ(wrong_words(words_of(left_behind, 1), 99), 0U) << "the replay has stored into the old memory";
  }
  EXPECT_EQ(wrong_->value(), 0U) << "what the graph itself saw";
  check_cuda(cudaGraphExecDestroy(replay));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(remapped_memory, leaves_no_memory_and_no_descriptor) {
  const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto free_bytes = [] {
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total));
    return free;
  };
  connect();
  const auto open_before = descriptors();
  const auto free_before = free_bytes();
  for (int round = 0; round < 200; ++round) {
    for (auto& end : ends_) end->unback();
    connect();
    ASSERT_EQ(descriptors(), open_before) << "round " << round;
    ASSERT_EQ(free_bytes(), free_before) << "round " << round;
  }
}

// What this machine says of fabric handles is what a group may rely on.
TEST_F(remapped_memory, fabric_handles_are_probed_and_used_only_where_they_work) {
  const bool work = fabric_handles_work(*api_, 0);
  symmetric_memory one(*api_, 0, 0, 1, 1 << 16);
  if (!work) {
    bool refused = false;
    try {
      one.back(handle_kind::fabric);
      (void)one.export_slice();
    } catch (const std::exception&) {
      refused = true;
    }
    EXPECT_TRUE(refused) << "the probe said no, and yet it works";
    return;
  }
  one.back(handle_kind::fabric);
  EXPECT_EQ(one.export_slice().kind, handle_kind::fabric);
}

}  // namespace
}  // namespace switchyard::cuda
