// SPDX-License-Identifier: Apache-2.0
// Shipped cases with all ranks on one GPU.
#include "gpu_cases.hpp"
#include "run/rank_device.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

class one_gpu_cases : public gpu_cases<1> {};

TEST_F(one_gpu_cases, smoke_of_up_to_eight_ranks) { expect_all("smoke", "smoke/deepseek_v3@*", case_status::pass); }

// Of the suite, what takes no second a case, and one of each of the rest. Headers are changed on the host fabric only,
// and a rank that shares its GPU cannot exit.
TEST_F(one_gpu_cases, faults_are_named) {
  for (const auto* filter :
       {"*/gone@inject.kind=stop*ranks=2", "*/b09_late_later@*=auto", "*/b10_survivors_go_on@*eager", "*/aborted@*",
        "*/skipped_phase@*", "*/disagree@*", "*/disagree_a*", "*/disagree_w*", "*/agree_without_tokens@*"}) {
    expect_all("faults", filter, case_status::pass);
  }
}

TEST_F(one_gpu_cases, faults_in_replays_are_named) {
  expect_all("faults", "*/disagree_in_replays@*", case_status::pass);
  expect_all("faults", "*/gone_in_replays@*launch=graph", case_status::pass);
}

TEST_F(one_gpu_cases, ranks_are_masked_off) {
  expect_all("masks", "*/b27_survivors@*late_us=0*top_k=4", case_status::pass);
  expect_all("masks", "*/one_after_the_other@*tokens=33*", case_status::pass);
  expect_all("masks", "*/nobody_off@*ranks=3,*", case_status::pass);
}

// Every sum by the golden model, bit for bit.
TEST_F(one_gpu_cases, sums_in_low_precision) {
  for (const auto* filter : {"*/shapes@*", "*/dispatch_formats@*", "*/models@*", "*/one_source@*", "*/masked@*",
                             "*/a_rank_stops_in_combine@*", "*/in_replays@*"}) {
    expect_all("low_precision", filter, case_status::pass);
  }
  expect_all("low_precision", "*/to_and_fro@*late_us=0*", case_status::pass);
}

TEST_F(one_gpu_cases, masks_change_between_replays) { expect_all("masks", "*/between_replays@*", case_status::pass); }

TEST_F(one_gpu_cases, wrong_masks_are_named) {
  for (const auto* filter : {"*/disagree_on_the_mask@*ranks=3*", "*/bad_mask@*ranks=2*", "*/masks_in_replays@*"}) {
    expect_all("faults", filter, case_status::pass);
  }
}

TEST_F(one_gpu_cases, ranks_recover_after_faults) {
  for (const auto* filter :
       {"*/b10_recovered@*", "*/recovered@blocks=1*inject.kind=stop*", "*/recovered@blocks=1*inject.kind=abort*",
        "*/recovered@*inject.kind=skip*", "*/recovered_disagreement@*first_epoch=4294967293*", "*/masks_recovered@*"}) {
    expect_all("faults", filter, case_status::pass);
  }
  expect_all("masks", "*/b27_back_again@*blocks=1*", case_status::pass);
}

TEST_F(one_gpu_cases, ranks_recover_without_the_one_that_erred) {
  for (const auto* kind : {"stop", "abort", "skip", "mask_off_self"}) {
    expect_all("faults", "*/recovered_without@blocks=1*inject.kind=" + std::string(kind) + ",*", case_status::pass);
  }
}

TEST_F(one_gpu_cases, replays_go_on_behind_a_recovery) {
  expect_all("faults", "*/recovered_replays@*", case_status::pass);
}

TEST_F(one_gpu_cases, drawn_recoveries) { expect_drawn_recoveries(51, 15); }

TEST_F(one_gpu_cases, routing_laws) { expect_all("routing", "*ranks=4*", case_status::pass); }

TEST_F(one_gpu_cases, have_the_bits_of_the_host_fabric) {
  expect_the_hosts_bits("routing", "*ranks=4*");
  expect_the_hosts_bits("graphs", "*/formats@*");
  expect_the_hosts_bits("graphs", "*/varying@*ranks=3*");
}

TEST_F(one_gpu_cases, formats_and_statistics) {
  for (const auto* filter :
       {"*/models@*", "*/varying@*", "*/statistics@*", "*/statistics_under_masks@*", "*/refused@*"}) {
    expect_all("formats", filter, case_status::pass);
  }
  expect_all("graphs", "*/statistics@*", case_status::pass);
  expect_all("bugs", "*/b19_*", case_status::pass);
  expect_all("bugs", "*/b28_*", case_status::pass);
}

TEST_F(one_gpu_cases, replayed_steps) { expect_all("graphs", "*/replayed@*", case_status::pass); }

TEST_F(one_gpu_cases, lamport_steps) {
  for (const auto* filter :
       {"*/threshold@*ranks=2*", "*/widths@*", "*/to_and_fro@*", "*/b05_*", "*/b06_*", "*/b07_*", "*/stopped@*"}) {
    expect_all("lamport", filter, case_status::pass);
  }
}

TEST_F(one_gpu_cases, lamport_replays) { expect_all("graphs", "*/lamport@*", case_status::pass); }

TEST_F(one_gpu_cases, fence_replays) { expect_all("graphs", "*/fence@*", case_status::pass); }

TEST_F(one_gpu_cases, replays_without_a_rank) { expect_all("graphs", "*/stopped_rank@*", case_status::pass); }

// Drawn cases have every field but launch.
TEST_F(one_gpu_cases, drawn_cases_replay_as_well) {
  random_limits limits;
  limits.max_ranks = 4;
  limits.faults_per_mille = 100;
  for (std::uint64_t number = 0; number < 60; ++number) {
    auto settings = draw_settings(21, number, limits);
    if (settings.contains("lacks_room_for")) continue;  // refused before any launch
    const auto mode = all_launch_modes.at(1 + number % (all_launch_modes.size() - 1));
    settings.insert_or_assign("launch", field_setting{std::string(to_string(mode)), {"test", ""}});
    const auto spec = random_case_of(settings);
    if (!machine_->reason_to_skip(spec)) expect(spec, case_status::pass);
  }
}

TEST_F(one_gpu_cases, layers_dispatch_in_formats_of_their_own) {
  expect_all("lifecycle", "*/formats_of_layers@*", case_status::pass);
  expect_all("lifecycle", "*/formats_in_graphs@*", case_status::pass);
  expect_the_hosts_bits("lifecycle", "*/formats_in_graphs@*ranks=3*");
}

TEST_F(one_gpu_cases, workspaces_come_and_go_beside_the_layers) {
  expect_all("lifecycle", "*/b24_*", case_status::pass);
  expect_all("lifecycle", "*/b25_two_hundred_beside@*ranks=2", case_status::pass);
}

TEST_F(one_gpu_cases, a_case_that_is_too_large_is_named_with_its_gpu_and_takes_nothing) {
  case_spec spec;
  spec.id = "too/large";
  spec.ep_size = 8;
  spec.params = {.num_experts = 8, .top_k = 1, .max_tokens_per_rank = 1'000'000, .hidden_size = 7168};
  spec.num_tokens = 1'000'000;
  arena memory(page_bytes());
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      (void)machine_->open(spec, memory);
      ADD_FAILURE() << "a case of terabytes was opened";
    } catch (const out_of_memory& error) {
      EXPECT_NE(std::string(error.what()).find("case too/large needs "), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(" bytes of memory of GPU 0; "), std::string::npos) << error.what();
    }
  }
  EXPECT_FALSE(machine_->lost());
  EXPECT_EQ(memory.used(), 0U);
  expect_all("smoke", "smoke/mixtral@ranks=2,tokens=1", case_status::pass);
}

TEST_F(one_gpu_cases, more_ranks_than_fit_are_skipped) { expect_all("scale", "*ranks=64*", case_status::skipped); }

}  // namespace
}  // namespace switchyard::harness
