// SPDX-License-Identifier: Apache-2.0
// Shipped cases with ranks dealt over two GPUs.
#include "gpu_cases.hpp"

namespace switchyard::harness {
namespace {

class two_gpu_cases : public gpu_cases<2> {};

TEST_F(two_gpu_cases, smoke_of_up_to_eight_ranks) { expect_all("smoke", "smoke/deepseek_v3@*", case_status::pass); }

TEST_F(two_gpu_cases, faults_are_named) {
  for (const auto* filter : {"*/gone@*ranks=2", "*/gone_in_replays@*launch=graph", "*/b10_survivors_go_on@*eager",
                             "*/aborted@*", "*/skipped_phase@*", "*/disagree*", "*/agree_without_tokens@*"}) {
    expect_all("faults", filter, case_status::pass);
  }
}

TEST_F(two_gpu_cases, ranks_recover_after_faults) {
  for (const auto* filter :
       {"*/b10_recovered@*", "*/recovered@*inject.kind=stop*lamport=auto*", "*/recovered_without@*inject.kind=stop*",
        "*/recovered_without@*inject.kind=abort*", "*/recovered_replays@*launch=graph*"}) {
    expect_all("faults", filter, case_status::pass);
  }
}

TEST_F(two_gpu_cases, a_hundred_drawn_recoveries) { expect_drawn_recoveries(53, 100); }

TEST_F(two_gpu_cases, have_the_bits_of_the_host_fabric) {
  expect_the_hosts_bits("routing", "*ranks=8*");
  expect_the_hosts_bits("graphs", "*/models@*ranks=2*");
}

TEST_F(two_gpu_cases, replayed_steps) { expect_all("graphs", "*/varying@*", case_status::pass); }

TEST_F(two_gpu_cases, lamport_steps) {
  for (const auto* filter : {"*/threshold@*ranks=2*", "*/to_and_fro@*", "*/b05_*", "*/late_ranks@*", "*/models@*"}) {
    expect_all("lamport", filter, case_status::pass);
  }
}

TEST_F(two_gpu_cases, lamport_replays) { expect_all("graphs", "*/lamport@*ranks=2*", case_status::pass); }

TEST_F(two_gpu_cases, fence_replays) { expect_all("graphs", "*/fence@*ranks=2*", case_status::pass); }

// A rank alone on its GPU has wide blocks.
TEST_F(two_gpu_cases, sums_in_low_precision) {
  for (const auto* filter : {"*/shapes@*ranks=2*", "*/models@*ranks=2*", "*/in_replays@*"}) {
    expect_all("low_precision", filter, case_status::pass);
  }
  expect_the_hosts_bits("low_precision", "*/models@*ranks=2*");
}

TEST_F(two_gpu_cases, layers_dispatch_in_formats_of_their_own) {
  expect_all("lifecycle", "*/formats_in_graphs@*", case_status::pass);
}

TEST_F(two_gpu_cases, workspaces_come_and_go_beside_the_layers) {
  expect_all("lifecycle", "*/b24_beside_graphs@*", case_status::pass);
  expect_all("lifecycle", "*/b25_two_hundred_beside@*ranks=2", case_status::pass);
}

TEST_F(two_gpu_cases, routing_laws) { expect_all("routing", "*ranks=4*", case_status::pass); }

}  // namespace
}  // namespace switchyard::harness
