// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes and share one GPU, which runs kernels of one of them at a time: right, if slow.
#include "gpu_processes.hpp"

namespace switchyard {
namespace {

class gpu_process_group : public test::gpu_process_test<1>, public testing::WithParamInterface<choice> {};

TEST_P(gpu_process_group, is_exact_where_it_is_asked_for) {
  test::expect_processes_to_be_exact(1, 3, GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(transports, gpu_process_group, testing::Values(choice::off, choice::on),
                         [](const auto& of) { return std::string(of.param == choice::off ? "fence" : "lamport"); });

class gpu_process_group_once : public test::gpu_process_test<1> {};

TEST_F(gpu_process_group_once, is_refused_where_it_is_not_asked_for_by_all) {
  const auto shape = test::process_exchange(2, choice::automatic);
  const test::meeting_place where(test::socket_kind::unix_socket);
  test::rank_processes ranks(2, [&](int rank) {
    test::require_error<unsupported>("'s, which is another process: kernels of both never run at the same time",
                                     [&] { const test::gpu_process_rank self(where, shape, rank, 0, rank == 0); });
  });
  ranks.expect_all_well();
}

}  // namespace
}  // namespace switchyard
