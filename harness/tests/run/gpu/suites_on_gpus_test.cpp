// SPDX-License-Identifier: Apache-2.0
// Shipped cases with all ranks on one GPU.
#include "gpu_cases.hpp"

namespace switchyard::harness {
namespace {

class one_gpu_cases : public gpu_cases<1> {};

TEST_F(one_gpu_cases, smoke_of_up_to_eight_ranks) { expect_all("smoke", "smoke/deepseek_v3@*", case_status::pass); }

TEST_F(one_gpu_cases, absent_ranks_are_named) { expect_all("faults_host", "", case_status::pass); }

TEST_F(one_gpu_cases, routing_laws) { expect_all("routing", "*ranks=4*", case_status::pass); }

TEST_F(one_gpu_cases, more_ranks_than_fit_are_skipped) { expect_all("scale", "*ranks=64*", case_status::skipped); }

}  // namespace
}  // namespace switchyard::harness
