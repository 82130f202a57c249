// SPDX-License-Identifier: Apache-2.0
// Captured steps on the CPU: replays have the bits of eager steps, and an error in one of them is found in that one.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "replaying_machine.hpp"
#include "small_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

/// T is at most lamport_max_tokens in some steps and above it in others.
case_spec case_between_transports(int ep_size, launch_mode launch) {
  auto spec = small_case(ep_size);
  spec.launch = launch;
  spec.lamport_max_tokens = 8;
  spec.runtime_max_tokens.reset();
  spec.token_counts = step_counts::parse("3/9/8/0/12/1");
  spec.num_tokens = 12;
  spec.params.hidden_size = 32;
  spec.values = hidden_values::hard_words;
  spec.steps = 24;
  return spec;
}

void expect_the_bits_of_eager_steps(case_spec spec) {
  const auto replayed = run_replayed(spec, std::make_shared<replaying_machine>());
  EXPECT_EQ(replayed.status, case_status::pass) << to_string(spec.launch) << ' ' << explain(replayed);
  spec.launch = launch_mode::eager;
  const auto eager = run_separately(spec, nullptr);
  ASSERT_EQ(eager.status, case_status::pass) << explain(eager);
  EXPECT_EQ(replayed.results_digest, eager.results_digest);
  EXPECT_EQ(replayed.checked_bytes, eager.checked_bytes);
  EXPECT_EQ(replayed.transport, eager.transport);
  EXPECT_NE(replayed.results_digest, 0U);
}

constexpr std::array replayed_modes{launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed};

TEST(replayed_on_host, steps_that_go_to_and_fro_between_transports) {
  for (const auto launch : replayed_modes) {
    for (const int ep_size : {1, 3}) {
      auto spec = case_between_transports(ep_size, launch);
      expect_the_bits_of_eager_steps(spec);
      spec.lamport = choice::off;
      expect_the_bits_of_eager_steps(spec);
    }
  }
}

TEST(replayed_on_host, statistics_of_each_replay_and_rows_of_formats_with_scales) {
  for (const auto launch : replayed_modes) {
    for (const auto format : {dispatch_format::fp8_block128, dispatch_format::mxfp8, dispatch_format::nvfp4}) {
      auto spec = case_between_transports(3, launch);
      spec.params.dispatch_format = format;
      spec.params.hidden_size = 160;
      spec.values = hidden_values::random;
      spec.eplb_stats = 10;
      expect_the_bits_of_eager_steps(spec);
      spec.lamport = choice::off;
      spec.blocks = 3;
      expect_the_bits_of_eager_steps(spec);
    }
  }
}

TEST(replayed_on_host, steps_of_changing_shapes_with_late_ranks_and_several_blocks) {
  for (const auto launch : replayed_modes) {
    auto spec = small_case(3);
    spec.launch = launch;
    spec.variation = step_variation::vary;
    spec.eplb_stats = 10;
    spec.steps = 20;
    spec.blocks = 3;
    spec.late.at_most = 200us;
    expect_the_bits_of_eager_steps(spec);
  }
}

TEST(replayed_on_host, the_epoch_passes_its_end_inside_a_replay) {
  auto spec = case_between_transports(3, launch_mode::graph);
  spec.first_epoch = 4294967291U;
  expect_the_bits_of_eager_steps(spec);
}

/// Rank 1's kernels do wrong behind the call of that number, which is the step's: a launch that is captured runs
/// nothing.
struct planted_error {
  std::function<void(const protocol::dispatch_params&)> after_dispatch;
  std::function<void(const protocol::combine_params&)> after_combine;
};

void flip_first_row(const protocol::dispatch_params& params) {
  params.ws.local<std::byte>(params.ws.layout.offset_of(layout::region::hidden_states))[5] ^= std::byte{0x40};
}

std::vector<finding> findings_of(const planted_error& planted, int step, launch_mode launch) {
  auto spec = small_case(2);
  spec.launch = launch;
  spec.lamport = choice::off;  // the first row of a slice holds a token
  spec.steps = 12;
  const auto machine = std::make_shared<replaying_machine>([=](int rank) {
    auto kernels = host::production_kernels();
    if (rank != 1) return kernels;
    const auto right = kernels;
    kernels.dispatch = [=, calls = std::make_shared<int>(0)](auto& block, const auto& params) {
      right.dispatch(block, params);
      if ((*calls)++ == step && planted.after_dispatch) planted.after_dispatch(params);
    };
    kernels.combine = [=, calls = std::make_shared<int>(0)](auto& block, const auto& params) {
      right.combine(block, params);
      if ((*calls)++ == step && planted.after_combine) planted.after_combine(params);
    };
    return kernels;
  });
  const auto result = run_replayed(spec, machine);
  EXPECT_EQ(result.status, case_status::fail) << result.reason;
  return result.findings;
}

TEST(replayed_on_host, a_wrong_byte_is_found_in_the_replay_that_has_it) {
  const planted_error in_row{flip_first_row, {}};
  const planted_error in_sum{{}, [](const protocol::combine_params& params) { params.output[3] ^= std::byte{1}; }};
  for (const auto launch : replayed_modes) {
    const auto rows = findings_of(in_row, 7, launch);
    const auto here = std::ranges::find(rows, 1, &finding::destination);
    ASSERT_NE(here, rows.end()) << to_string(launch);
    EXPECT_EQ(here->step, 7) << to_string(launch);
    EXPECT_EQ(here->buffer, "hidden_states");
    EXPECT_EQ(here->byte, 5U);
    const auto sums = findings_of(in_sum, 10, launch);
    ASSERT_FALSE(sums.empty()) << to_string(launch);
    EXPECT_EQ(sums.front().verdict, verdict::wrong_sum);
    EXPECT_EQ(sums.front().step, 10);
    EXPECT_EQ(sums.front().destination, 1);
  }
}

// The consumer is inside: what combine sums is made of what this replay's dispatch brought.
TEST(replayed_on_host, rows_that_the_consumer_reads_reach_the_sums) {
  const planted_error in_row{flip_first_row, {}};
  const auto found = findings_of(in_row, 7, launch_mode::graph);
  EXPECT_EQ(std::ranges::count(found, verdict::wrong_sum, &finding::verdict), 1);
}

TEST(replayed_on_host, a_rank_whose_graph_is_not_replayed_is_named) {
  for (const auto which : {phase::dispatch, phase::combine}) {
    auto spec = case_between_transports(3, launch_mode::graph);
    spec.inject = injected_fault{.rank = 1, .step = 7, .phase = which};
    spec.timeout = 200ms;
    spec.expected_fault = fault_code::timeout;
    const auto result = run_replayed(spec, std::make_shared<replaying_machine>());
    EXPECT_EQ(result.status, case_status::pass) << explain(result);
    EXPECT_EQ(result.faults.size(), 2U);
  }
}

}  // namespace
}  // namespace switchyard::harness
