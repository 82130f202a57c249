// SPDX-License-Identifier: Apache-2.0
// Cases with a rank that does not come, and a watchdog for ranks that never come back.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "case_state.hpp"
#include "fabric/host/host_fabric.hpp"
#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

case_spec stopped_case(int ep_size, injected_fault who) {
  auto spec = small_case(ep_size);
  spec.inject = who;
  spec.timeout = 200ms;
  spec.expected_fault = fault_code::timeout;
  return spec;
}

struct stopped_place {
  int ep_size;
  injected_fault who;
};

class stopped_rank : public testing::TestWithParam<stopped_place> {};

TEST_P(stopped_rank, is_named_by_every_other_rank) {
  const auto& [ep_size, who] = GetParam();
  const auto spec = stopped_case(ep_size, who);
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  ASSERT_EQ(result.faults.size(), static_cast<std::size_t>(ep_size - 1));
  for (const auto& fault : result.faults) {
    EXPECT_NE(fault.rank, who.rank);
    EXPECT_EQ(fault.record.code, fault_code::timeout);
    EXPECT_EQ(fault.record.phase, who.phase);
    EXPECT_NE(fault.message.find("rank " + std::to_string(who.rank)), std::string::npos) << fault.message;
  }
  EXPECT_EQ(result.times.size(), static_cast<std::size_t>(who.step));
}

INSTANTIATE_TEST_SUITE_P(places, stopped_rank,
                         testing::Values(stopped_place{2, {0, 0, phase::dispatch}},
                                         stopped_place{2, {1, 0, phase::combine}},
                                         stopped_place{4, {2, 2, phase::dispatch}},
                                         stopped_place{4, {0, 3, phase::combine}}));

TEST(run_case_fault_test, the_wait_matrix_of_the_last_step_shows_who_was_late) {
  auto spec = small_case(3);
  spec.inject = injected_fault{1, spec.steps - 1, phase::combine, fault_kind::late, step_field::none, 80ms};
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  ASSERT_EQ(result.arrivals_ns.size(), 2U);
  for (const auto which : {phase::dispatch, phase::combine}) {
    const auto& matrix = result.arrivals_ns[static_cast<std::size_t>(which)];
    ASSERT_EQ(matrix.size(), 3U);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      ASSERT_EQ(matrix[rank].size(), 3U);
      for (std::size_t peer = 0; peer < 3; ++peer) {
        ASSERT_NE(matrix[rank][peer], not_arrived);
        const bool waited = which == phase::combine && rank != 1 && peer == 1;
        EXPECT_EQ(matrix[rank][peer] > 50'000'000, waited) << rank << " for " << peer;
      }
    }
  }
}

TEST(run_case_fault_test, a_rank_that_exits_takes_nothing_from_its_peers) {
  auto spec = stopped_case(3, {1, 1, phase::combine, fault_kind::exit});
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.faults.size(), 2U);
  EXPECT_EQ(memory.used(), 0U);
}

TEST(run_case_fault_test, a_group_that_recovers_checks_every_step_behind_the_fault) {
  auto spec = stopped_case(3, {1, 1, phase::combine});
  arena memory(required_bytes(spec));
  const auto without = run_case(spec, memory, {});
  EXPECT_EQ(without.times.size(), 1U);
  spec.recovers = true;
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.faults.size(), 2U);
  EXPECT_EQ(result.times.size(), static_cast<std::size_t>(spec.steps));
  // All of the steps before and behind the fault, as if there had been none, and what it left.
  const auto bytes_of = [&](int steps) {
    auto right = small_case(3);
    right.steps = steps;
    return run_case(right, memory, {}).checked_bytes;
  };
  EXPECT_GT(result.checked_bytes, bytes_of(4) - bytes_of(2) + bytes_of(1));
  EXPECT_EQ(result.arrivals_ns.size(), 2U);
}

// Rank 1 does wrong in a combine behind the recovery; the verifier is there to see it.
TEST(run_case_fault_test, an_error_behind_the_recovery_is_found) {
  auto spec = stopped_case(3, {1, 0, phase::dispatch});
  spec.recovers = true;
  arena memory(required_bytes(spec));
  run_options options;
  options.make_fabric = [](int rank) -> std::shared_ptr<fabric> {
    if (rank != 1) return nullptr;
    auto kernels = host::production_kernels();
    kernels.combine = [right = kernels.combine](host::host_block& block, const protocol::combine_params& params) {
      right(block, params);
      if (params.ws.round().incarnation == 2) params.output[0] ^= std::byte{1};
    };
    return host::make_host_fabric(kernels);
  };
  const auto result = run_case(spec, memory, options);
  EXPECT_EQ(result.status, case_status::fail) << explain(result);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].verdict, verdict::wrong_sum);
  EXPECT_EQ(result.findings[0].step, 1);
}

TEST(run_case_fault_test, a_fault_that_was_not_due_is_a_timeout_with_every_record) {
  auto spec = stopped_case(3, {1, 1, phase::dispatch});
  spec.expected_fault = fault_code::none;
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::timeout) << explain(result);
  EXPECT_EQ(result.faults.size(), 2U);
  ASSERT_EQ(result.findings.size(), 2U);
  EXPECT_EQ(result.findings[0].verdict, verdict::wrong_fault);
  EXPECT_EQ(result.findings[0].destination, 0);
  EXPECT_EQ(result.findings[0].step, 1);
  EXPECT_NE(result.findings[0].detail.find("rank 1"), std::string::npos);
}

TEST(run_case_fault_test, another_fault_than_the_one_due_fails) {
  auto spec = stopped_case(2, {1, 0, phase::combine});
  spec.expected_fault = fault_code::step_mismatch;
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::fail) << explain(result);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].verdict, verdict::wrong_fault);
}

TEST(run_case_fault_test, a_fault_that_does_not_come_fails_on_every_rank) {
  auto spec = small_case(3);
  spec.expected_fault = fault_code::timeout;
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::fail);
  ASSERT_EQ(result.findings.size(), 3U);
  for (const auto& found : result.findings) EXPECT_EQ(found.verdict, verdict::wrong_fault);
}

TEST(run_case_fault_test, the_watchdog_frees_ranks_that_make_no_progress) {
  auto spec = stopped_case(3, {2, 1, phase::combine});
  spec.timeout = 60s;  // the library would wait; the watchdog does not
  arena memory(required_bytes(spec));
  const auto result = run_watched_case(spec, memory, {}, {400ms, 5s});
  EXPECT_EQ(result.status, case_status::timeout) << explain(result);
  EXPECT_NE(result.reason.find("rank 0 in combine of step 1"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("rank 1 in combine of step 1"), std::string::npos) << result.reason;
  EXPECT_EQ(result.reason.find("rank 2"), std::string::npos) << result.reason;
  EXPECT_EQ(result.reason.find("left behind"), std::string::npos) << result.reason;
  EXPECT_EQ(memory.used(), 0U);
}

// A rank that neither deadline nor abort() can stop is left behind with the memory that it knows.
TEST(run_case_fault_test, a_rank_that_cannot_be_stopped_does_not_stop_the_suite) {
  const auto spec = small_case(2);
  arena memory(required_bytes(spec));
  std::atomic<bool> released{false};
  const auto witness = std::make_shared<int>(0);  // a copy lives as long as anything of the case
  run_options options;
  options.make_fabric = [&released, witness](int rank) -> std::shared_ptr<fabric> {
    if (rank == 0) return nullptr;
    auto kernels = host::production_kernels();
    kernels.combine = [&released](host::host_block&, const protocol::combine_params&) {
      while (!released) std::this_thread::sleep_for(1ms);
    };
    return host::make_host_fabric(kernels);
  };
  const auto result = run_watched_case(spec, memory, options, {300ms, 200ms});
  EXPECT_EQ(result.status, case_status::timeout) << explain(result);
  EXPECT_NE(result.reason.find("rank 1 in combine of step 0"), std::string::npos) << result.reason;
  EXPECT_NE(result.reason.find("left behind"), std::string::npos) << result.reason;
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(run_case(spec, memory, {}).status, case_status::pass);
  released = true;
  options.make_fabric = {};
  while (witness.use_count() > 1) std::this_thread::sleep_for(1ms);
}

TEST(run_case_fault_test, too_many_workers_fail_with_the_rule) {
  auto spec = small_case(2);
  spec.workers = 257;
  arena memory(required_bytes(spec));
  const auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_NE(result.reason.find("257"), std::string::npos) << result.reason;
}

TEST(run_case_fault_test, a_rank_without_a_fabric_fails_the_case_and_hangs_nobody) {
  auto spec = small_case(3);
  arena memory(required_bytes(spec));
  run_options options;
  options.make_fabric = [](int rank) -> std::shared_ptr<fabric> {
    if (rank == 1) throw std::runtime_error("no fabric for this rank");
    return nullptr;
  };
  // Shortens the time that the library waits for the rank at construction.
  spec.timeout = 300ms;
  spec.inject = injected_fault{2, 0, phase::dispatch};
  const auto result = run_case(spec, memory, options);
  EXPECT_EQ(result.status, case_status::fail) << explain(result);
  EXPECT_FALSE(result.reason.empty());
}

}  // namespace
}  // namespace switchyard::harness
