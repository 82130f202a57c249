// SPDX-License-Identifier: Apache-2.0
// A byte stored in device memory where it must not be: the case must fail, with the verdict and the place.
#include <algorithm>
#include <string>

#include "../small_case.hpp"
#include "gpu_cases.hpp"
#include "storing_fabric.hpp"

namespace switchyard::harness {
namespace {

using layout::region;

constexpr int wrong_rank = 1;

class planted_on_gpu : public gpu_cases<1> {
 protected:
  /// The first finding at rank 1 of a case in which that rank stores the byte. A wrong row is also in the sum of the
  /// rank that sent it, which may stand before it.
  finding first_finding(const planted_store& planted, launch_mode launch = launch_mode::eager) {
    auto spec = small_case(2);
    spec.lamport = choice::off;  // the first row of a slice holds a token
    spec.launch = launch;
    run_options options;
    options.machine = machine_;
    options.make_fabric = [&](int rank) -> std::shared_ptr<fabric> {
      if (rank != wrong_rank) return nullptr;
      return std::make_shared<storing_fabric>(planted);
    };
    arena memory(required_bytes(spec));
    const auto result = run_case(spec, memory, options);
    EXPECT_EQ(result.status, case_status::fail) << result.reason;
    EXPECT_EQ(result.reason.find("the checkers disagree"), std::string::npos) << result.reason;
    const auto found = std::ranges::find(result.findings, wrong_rank, &finding::destination);
    if (found != result.findings.end()) return *found;
    ADD_FAILURE() << "nothing found at rank " << wrong_rank << ": " << explain(result);
    return {};
  }
};

TEST_F(planted_on_gpu, a_wrong_byte_of_a_received_row) {
  const auto found = first_finding(
      {.after_dispatch = [](const auto&, const auto& workspace) { return workspace.at(region::hidden_states) + 5; }});
  EXPECT_EQ(found.buffer, "hidden_states");
  EXPECT_EQ(found.step, 2);
  EXPECT_EQ(found.row, 0);
  EXPECT_EQ(found.byte, 5);
}

TEST_F(planted_on_gpu, a_wrong_byte_of_an_extra_payload) {
  const auto found = first_finding(
      {.after_dispatch = [](const auto&, const auto& workspace) { return workspace.at(region::extra) + 19; }});
  EXPECT_EQ(found.buffer, "extra");
  EXPECT_EQ(found.row, 0);
  EXPECT_EQ(found.byte, 19);
}

TEST_F(planted_on_gpu, a_wrong_count) {
  const auto found = first_finding(
      {.after_dispatch = [](const auto&, const auto& workspace) { return workspace.at(region::recv_counts); }});
  EXPECT_EQ(found.verdict, verdict::wrong_count);
  EXPECT_EQ(found.actual, 0x5AU);
}

TEST_F(planted_on_gpu, a_guard_of_the_workspace) {
  const auto found = first_finding(
      {.after_combine = [](const auto&, const auto& workspace) { return workspace.behind(region::topk_weights) + 3; }});
  EXPECT_EQ(found.verdict, verdict::overrun);
  EXPECT_EQ(found.buffer, "topk_weights");
}

TEST_F(planted_on_gpu, a_wrong_byte_of_the_output) {
  const auto found =
      first_finding({.after_combine = [](const auto& params, const auto&) { return params.output + 3; }});
  EXPECT_EQ(found.verdict, verdict::wrong_sum);
  EXPECT_EQ(found.buffer, "output");
  EXPECT_EQ(found.row, 0);
}

TEST_F(planted_on_gpu, the_fence_behind_the_output) {
  const auto found = first_finding({.after_combine = [](const auto& params, const auto&) {
    return params.output + params.num_tokens * params.elements * 2;
  }});
  EXPECT_EQ(found.verdict, verdict::overrun);
  EXPECT_EQ(found.buffer, "output");
}

TEST_F(planted_on_gpu, the_fence_before_an_input) {
  const auto found = first_finding({.after_dispatch = [](const auto& params, const auto&) {
    return reinterpret_cast<const std::byte*>(params.routing.ids) - 1;
  }});
  EXPECT_EQ(found.verdict, verdict::overrun);
  EXPECT_EQ(found.buffer, "topk_ids input");
}

// A graph replays the store with everything else. Launches are counted as they are captured: the first two are of the
// first two steps, whose expert rows lie in different places.
TEST_F(planted_on_gpu, a_wrong_byte_of_a_row_received_in_a_replay) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    const auto found = first_finding(
        {.after_dispatch = [](const auto&, const auto& workspace) { return workspace.at(region::hidden_states) + 5; },
         .step = 0},
        launch);
    EXPECT_EQ(found.buffer, "hidden_states") << to_string(launch);
    EXPECT_EQ(found.step, 0);
    EXPECT_EQ(found.row, 0);
    EXPECT_EQ(found.byte, 5);
  }
}

TEST_F(planted_on_gpu, a_wrong_count_and_a_wrong_sum_in_a_replay) {
  const auto count = first_finding(
      {.after_dispatch = [](const auto&, const auto& workspace) { return workspace.at(region::recv_counts); },
       .step = 1},
      launch_mode::graph);
  EXPECT_EQ(count.verdict, verdict::wrong_count);
  EXPECT_EQ(count.step, 1);
  const auto sum =
      first_finding({.after_combine = [](const auto& params, const auto&) { return params.output + 3; }, .step = 1},
                    launch_mode::two_graphs);
  EXPECT_EQ(sum.verdict, verdict::wrong_sum);
  EXPECT_EQ(sum.step, 1);
  EXPECT_EQ(sum.row, 0);
}

TEST_F(planted_on_gpu, a_fence_and_a_guard_in_a_replay) {
  const auto fence = first_finding(
      {.after_combine = [](const auto& params,
                           const auto&) { return params.output + params.num_tokens * params.elements * 2; },
       .step = 0},
      launch_mode::graph);
  EXPECT_EQ(fence.verdict, verdict::overrun);
  EXPECT_EQ(fence.buffer, "output");
  const auto guard = first_finding(
      {.after_combine = [](const auto&, const auto& workspace) { return workspace.behind(region::topk_weights) + 3; },
       .step = 0},
      launch_mode::graph);
  EXPECT_EQ(guard.verdict, verdict::overrun);
  EXPECT_EQ(guard.buffer, "topk_weights");
}

}  // namespace
}  // namespace switchyard::harness
