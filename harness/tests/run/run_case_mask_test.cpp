// SPDX-License-Identifier: Apache-2.0
// Cases whose ranks are masked off: they pass, change between replays, come back, and what is wrong with them is found.
#include <gtest/gtest.h>

#include <chrono>

#include "replaying_machine.hpp"
#include "small_case.hpp"
#include "switchyard/harness/rank_masks.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

case_spec masked_case(int ep_size, std::string_view masked_from) {
  auto spec = small_case(ep_size);
  spec.enable_rank_mask = true;
  spec.masked_from = step_counts::parse(masked_from);
  spec.steps = 8;
  spec.late.at_most = 200us;
  return spec;
}

case_result run(const case_spec& spec) {
  arena memory(small_arena_bytes);
  run_options options;
  options.seed = 3;
  return run_case(spec, memory, options);
}

TEST(rank_masks, of_a_case_are_a_function_of_its_steps) {
  auto spec = masked_case(3, "8:2:0");
  rank_set first{};
  insert(first, 0);
  insert(first, 1);
  EXPECT_EQ(active_ranks_of(spec, 0), first);
  EXPECT_EQ(active_ranks_of(spec, 1), first);
  first[0] = 0b001;
  EXPECT_EQ(active_ranks_of(spec, 2), first);
  spec.rejoin_step = 5;
  EXPECT_EQ(active_ranks_of(spec, 4), first);
  first[0] = 0b111;
  EXPECT_EQ(active_ranks_of(spec, 5), first);
  spec.inject = injected_fault{.rank = 1, .step = 1, .kind = fault_kind::disagree, .field = step_field::rank_mask};
  EXPECT_EQ(rank_left_out(spec), 0);
  EXPECT_EQ(declared_mask(spec, 1, 1)[0], 0b010U);
  EXPECT_EQ(declared_mask(spec, 0, 1)[0], 0b011U);
  EXPECT_EQ(declared_mask(spec, 1, 0)[0], 0b011U);
}

TEST(run_case_mask, ranks_leave_one_after_the_other_by_either_transport) {
  for (const auto lamport : {choice::off, choice::on}) {
    for (const int blocks : {1, 3}) {
      auto spec = masked_case(4, "2:8:0:5");
      spec.lamport = lamport;
      spec.blocks = blocks;
      spec.workers = blocks;
      const auto result = run(spec);
      EXPECT_EQ(result.status, case_status::pass) << explain(result);
      EXPECT_EQ(result.transport, lamport == choice::off ? "fence" : "lamport");
      EXPECT_TRUE(result.faults.empty());
    }
  }
}

TEST(run_case_mask, masks_change_while_steps_go_to_and_fro_between_transports) {
  auto spec = masked_case(4, "9:6:3:20");
  spec.steps = 20;
  spec.lamport_max_tokens = 8;
  spec.runtime_max_tokens.reset();
  spec.token_counts = step_counts::parse("3/9/8/0/12/1");
  spec.num_tokens = 12;
  spec.rejoin_step = 14;
  const auto result = run(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.transport, "fence+lamport");
}

TEST(run_case_mask, a_mask_of_all_has_the_bits_of_no_mask) {
  auto spec = small_case(3);
  const auto without = run(spec);
  spec.enable_rank_mask = true;
  const auto with = run(spec);
  ASSERT_EQ(without.status, case_status::pass) << explain(without);
  ASSERT_EQ(with.status, case_status::pass) << explain(with);
  EXPECT_EQ(with.results_digest, without.results_digest);
  EXPECT_EQ(with.remote_bytes, without.remote_bytes);
}

TEST(run_case_mask, ranks_that_were_off_rejoin) {
  for (const int rejoin : {1, 4, 7}) {
    auto spec = masked_case(4, "0:8:3:8");
    spec.rejoin_step = rejoin;
    const auto result = run(spec);
    EXPECT_EQ(result.status, case_status::pass) << "before step " << rejoin << ": " << explain(result);
  }
}

TEST(run_case_mask, the_mask_changes_between_replays) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    auto spec = masked_case(4, "8:3:6:8");
    spec.launch = launch;
    spec.blocks = 2;
    const auto replayed = run_replayed(spec, std::make_shared<replaying_machine>());
    EXPECT_EQ(replayed.status, case_status::pass) << to_string(launch) << ' ' << explain(replayed);
    spec.launch = launch_mode::eager;
    const auto eager = run_separately(spec, nullptr);
    ASSERT_EQ(eager.status, case_status::pass) << explain(eager);
    EXPECT_EQ(replayed.results_digest, eager.results_digest);
  }
}

case_result run_wrong(fault_kind kind, fault_code due, step_field field = step_field::none) {
  auto spec = small_case(3);
  spec.enable_rank_mask = true;
  spec.inject = injected_fault{.rank = 1, .step = 2, .kind = kind, .field = field};
  spec.expected_fault = due;
  spec.prompt_verdict = true;
  return run(spec);
}

TEST(run_case_mask, wrong_masks_are_recorded_as_they_must_be) {
  for (const auto kind : {fault_kind::mask_off_self, fault_kind::mask_past_end}) {
    const auto result = run_wrong(kind, fault_code::bad_mask);
    EXPECT_EQ(result.status, case_status::pass) << to_string(kind) << ' ' << explain(result);
    EXPECT_EQ(result.faults.size(), 3U);
  }
  const auto odd = run_wrong(fault_kind::disagree, fault_code::mask_changed, step_field::rank_mask);
  EXPECT_EQ(odd.status, case_status::pass) << explain(odd);
  const auto other = run_wrong(fault_kind::disagree, fault_code::step_mismatch, step_field::rank_mask);
  EXPECT_EQ(other.status, case_status::fail) << "the code is another";
}

TEST(run_case_mask, a_gone_rank_beside_one_that_is_off_is_named_alone) {
  auto spec = masked_case(4, "8:0:8:8");
  spec.late = {};
  spec.timeout = 500ms;
  spec.inject = injected_fault{.rank = 2, .step = 1, .phase = phase::combine};
  spec.expected_fault = fault_code::timeout;
  const auto result = run(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.faults.size(), 2U);
}

}  // namespace
}  // namespace switchyard::harness
