// SPDX-License-Identifier: Apache-2.0
// Cases that go on behind a fault: all ranks, or all but the one that erred, eagerly and in replays.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "replaying_machine.hpp"
#include "small_case.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/rank_masks.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

case_spec recovering_case(int ep_size, injected_fault who) {
  auto spec = small_case(ep_size);
  spec.steps = 7;
  spec.inject = who;
  spec.timeout = 200ms;
  spec.expected_fault = due_fault(who);
  spec.enable_rank_mask = true;
  spec.recovers = true;
  return spec;
}

TEST(run_case_recovery, goes_on_without_the_rank_that_erred) {
  for (const auto kind : {fault_kind::stop, fault_kind::exit, fault_kind::abort, fault_kind::skip, fault_kind::corrupt,
                          fault_kind::misdirect}) {
    for (const auto which : {phase::dispatch, phase::combine}) {
      auto spec = recovering_case(3, {1, 2, which, kind});
      spec.leaves_out = true;
      const auto result = run_on_host(spec);
      EXPECT_EQ(result.status, case_status::pass) << to_string(kind) << ' ' << explain(result);
      EXPECT_GE(result.faults.size(), 2U) << to_string(kind);
      EXPECT_GE(result.times.size(), static_cast<std::size_t>(spec.steps) - 2) << "steps behind the fault";
      // Had the rank come back, its tokens would be there, and rows of the others with it.
      auto whole = spec;
      whole.leaves_out = false;
      if (kind != fault_kind::exit) {
        EXPECT_LT(result.checked_bytes, run_on_host(whole).checked_bytes) << to_string(kind);
      }
    }
  }
}

TEST(run_case_recovery, is_of_the_ranks_that_are_left) {
  auto spec = recovering_case(4, {2, 3, phase::dispatch});
  spec.leaves_out = true;
  for (int step = 0; step < spec.steps; ++step) {
    rank_set active{};
    for (const int rank : {0, 1, 2, 3}) {
      if (rank != 2 || step < 4) insert(active, rank);
    }
    EXPECT_EQ(active_ranks_of(spec, step), active) << "step " << step;
  }
  spec.inject->kind = fault_kind::skip;
  spec.inject->phase = phase::combine;
  EXPECT_TRUE(contains(active_ranks_of(spec, 4), 2)) << "the step in which it shows";
  EXPECT_FALSE(contains(active_ranks_of(spec, 5), 2));
}

// Who was left out may not be heard of again: here it sends on as if nothing had happened.
TEST(run_case_recovery, an_error_of_those_that_go_on_is_found) {
  auto spec = recovering_case(3, {1, 1, phase::dispatch});
  spec.leaves_out = true;
  arena memory(required_bytes(spec));
  run_options options;
  options.make_fabric = [](int rank) -> std::shared_ptr<fabric> {
    auto kernels = host::production_kernels();
    kernels.combine = [right = kernels.combine, rank](host::host_block& block, const protocol::combine_params& params) {
      right(block, params);
      if (rank == 2 && params.ws.round().incarnation == 2) params.output[0] ^= std::byte{1};
    };
    return host::make_host_fabric(kernels);
  };
  const auto result = run_case(spec, memory, options);
  EXPECT_EQ(result.status, case_status::fail) << explain(result);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].verdict, verdict::wrong_sum);
  EXPECT_EQ(result.findings[0].step, 2);
  EXPECT_EQ(result.findings[0].destination, 2);
}

// A restart that gave other memory would have no guards, so they are filled again, and looked at before and after.
TEST(run_case_recovery, a_broken_guard_is_found_whichever_life_broke_it) {
  for (const std::uint32_t life : {1U, 2U}) {
    const auto spec = recovering_case(3, {1, 2, phase::dispatch});
    arena memory(required_bytes(spec));
    run_options options;
    options.make_fabric = [life](int rank) -> std::shared_ptr<fabric> {
      if (rank != 0) return nullptr;
      auto kernels = host::production_kernels();
      kernels.combine = [right = kernels.combine, life](host::host_block& block,
                                                        const protocol::combine_params& params) {
        right(block, params);
        if (params.ws.round().incarnation != life) return;
        const auto& layout = params.ws.layout;
        const auto end = layout.offset_of(layout::region::headers) + layout.size_of(layout::region::headers);
        params.ws.self[end + 3] = std::byte{0x11};
      };
      return host::make_host_fabric(kernels);
    };
    const auto result = run_case(spec, memory, options);
    EXPECT_EQ(result.status, case_status::fail) << "life " << life;
    ASSERT_FALSE(result.findings.empty()) << "life " << life;
    EXPECT_EQ(result.findings[0].verdict, verdict::overrun);
    EXPECT_EQ(result.findings[0].buffer, "headers");
  }
}

TEST(run_case_recovery, graphs_that_were_captured_before_replay_exactly) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    for (const auto kind : {fault_kind::stop, fault_kind::abort}) {
      for (const auto which : {phase::dispatch, phase::combine}) {
        for (const bool leaves_out : {false, true}) {
          auto spec = recovering_case(3, {1, 3, which, kind});
          spec.launch = launch;
          spec.leaves_out = leaves_out;
          spec.blocks = 2;
          const auto result = run_replayed(spec, std::make_shared<replaying_machine>());
          EXPECT_EQ(result.status, case_status::pass)
              << to_string(launch) << ' ' << to_string(kind) << ' ' << to_string(which) << ' ' << explain(result);
          EXPECT_GE(result.faults.size(), 2U);
        }
      }
    }
  }
}

TEST(run_case_recovery, drawn_cases_pass) {
  random_limits limits;
  limits.max_ranks = 5;
  limits.faults_per_mille = 1000;
  int whole = 0;
  int without = 0;
  for (std::uint64_t number = 0; whole + without < 60; ++number) {
    const auto spec = draw_case(41, number, limits);
    if (!spec.recovers) continue;
    ++(spec.leaves_out ? without : whole);
    const auto result = run_on_host(spec);
    EXPECT_EQ(result.status, case_status::pass) << spec.id << '\n' << explain(result);
  }
  EXPECT_GE(whole, 10);
  EXPECT_GE(without, 10);
}

}  // namespace
}  // namespace switchyard::harness
