// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, each with a GPU of its own.
#include "gpu_processes.hpp"

namespace switchyard {
namespace {

class two_gpu_process_group : public test::gpu_process_test<2>, public testing::WithParamInterface<choice> {};

TEST_P(two_gpu_process_group, is_exact) { test::expect_processes_to_be_exact(2, 2, GetParam(), false); }

INSTANTIATE_TEST_SUITE_P(transports, two_gpu_process_group, testing::Values(choice::off, choice::on),
                         [](const auto& of) { return std::string(of.param == choice::off ? "fence" : "lamport"); });

}  // namespace
}  // namespace switchyard
