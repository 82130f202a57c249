// SPDX-License-Identifier: Apache-2.0
// What the fabric says where it cannot be used. On a machine with a GPU these have nothing to show.
#include "fabric/cuda/cuda_fabric.hpp"

#include <gtest/gtest.h>

#include "support/host_group.hpp"

namespace switchyard {
namespace {

class without_a_gpu : public testing::Test {
 protected:
  void SetUp() override {
    if (one_sided_all_to_all::platform_support(fabric_kind::cuda, 0).available) GTEST_SKIP() << "there is a GPU";
  }
};

TEST_F(without_a_gpu, platform_support_says_why_not) {
  const auto answer = one_sided_all_to_all::platform_support(fabric_kind::cuda, 0);
  EXPECT_FALSE(answer.available);
  EXPECT_NE(answer.reason.find("CUDA"), std::string::npos) << answer.reason;
}

TEST_F(without_a_gpu, construction_is_unsupported_on_every_rank) {
  const auto backends = make_in_process_backends(2);
  test::on_every_rank(2, [&](int rank) {
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = 2;
    boot.kind = fabric_kind::cuda;
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    const comm_params params{.num_experts = 4, .top_k = 2, .max_tokens_per_rank = 8, .hidden_size = 8};
    EXPECT_THROW(one_sided_all_to_all(boot, params), unsupported) << "rank " << rank;
  });
}

TEST(cuda_fabric, a_stream_names_its_fabric) {
  const stream_ref stream(static_cast<CUstream_st*>(nullptr));
  EXPECT_EQ(stream.kind(), fabric_kind::cuda);
  EXPECT_EQ(stream.cuda(), nullptr);
  EXPECT_EQ(cuda::make_cuda_fabric()->stream_kind(), fabric_kind::cuda);
}

}  // namespace
}  // namespace switchyard
