// SPDX-License-Identifier: Apache-2.0
// A library that does wrong in one place of a running case: the case must fail, with the verdict and the coordinates.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>

#include "fabric/host/host_fabric.hpp"
#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using layout::region;

constexpr int wrong_rank = 1;
constexpr int wrong_step = 2;

using dispatch_error = std::function<void(const protocol::dispatch_params&)>;
using combine_error = std::function<void(const protocol::combine_params&)>;

// Runs a case whose rank 1 commits the errors when its phase of step 2 has ended; one block, so that it has ended.
case_result run_with(const dispatch_error& after_dispatch, const combine_error& after_combine) {
  const auto spec = small_case(3);
  run_options options;
  options.make_fabric = [&](int rank) -> std::shared_ptr<fabric> {
    if (rank != wrong_rank) return nullptr;
    auto kernels = host::production_kernels();
    const auto right = kernels;
    kernels.dispatch = [=, calls = std::make_shared<int>(0)](host::host_block& block,
                                                             const protocol::dispatch_params& params) {
      right.dispatch(block, params);
      if ((*calls)++ == wrong_step && after_dispatch) after_dispatch(params);
    };
    kernels.combine = [=, calls = std::make_shared<int>(0)](host::host_block& block,
                                                            const protocol::combine_params& params) {
      right.combine(block, params);
      if ((*calls)++ == wrong_step && after_combine) after_combine(params);
    };
    return host::make_host_fabric(kernels);
  };
  arena memory(required_bytes(spec));
  return run_case(spec, memory, options);
}

void expect_first(const case_result& result, verdict expected, const std::string& buffer, std::uint64_t how_many) {
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_EQ(result.total_findings, how_many) << result.reason;
  ASSERT_FALSE(result.findings.empty());
  const auto& found = result.findings[0];
  EXPECT_EQ(found.verdict, expected) << describe(found);
  EXPECT_EQ(found.buffer, buffer);
  EXPECT_EQ(found.destination, wrong_rank);
}

TEST(run_case_planted_test, nothing_planted_passes) { EXPECT_EQ(run_with({}, {}).status, case_status::pass); }

TEST(run_case_planted_test, a_byte_of_a_received_row) {
  const auto result = run_with(
      [](const protocol::dispatch_params& params) {
        params.ws.local<std::byte>(params.ws.layout.offset_of(region::extra))[5] ^= std::byte{1};
      },
      {});
  expect_first(result, verdict::corruption, "extra", 1);
  EXPECT_EQ(result.findings[0].step, wrong_step);
  EXPECT_EQ(result.findings[0].source, 0);
  EXPECT_EQ(result.findings[0].row, 0);
  EXPECT_EQ(result.findings[0].byte, 5);
}

// Puts back what a checker leaves in the views between the phases, as if the row had never come.
TEST(run_case_planted_test, a_row_that_did_not_come) {
  const auto result = run_with(
      [](const protocol::dispatch_params& params) {
        auto* row = params.ws.local<std::byte>(params.ws.layout.offset_of(region::extra));
        std::memset(row, 0xB0 + wrong_step - 1, 20);
      },
      {});
  expect_first(result, verdict::loss, "extra", 1);
  EXPECT_EQ(result.findings[0].step, wrong_step);
  EXPECT_EQ(result.findings[0].row, 0);
}

TEST(run_case_planted_test, a_count) {
  const auto result = run_with(
      [](const protocol::dispatch_params& params) {
        params.ws.local<std::int32_t>(params.ws.layout.offset_of(region::recv_counts))[2] += 1;
      },
      {});
  expect_first(result, verdict::wrong_count, "recv_counts", 1);
  EXPECT_EQ(result.findings[0].source, 2);
}

TEST(run_case_planted_test, a_hidden_state_spoils_the_sum_of_its_token_too) {
  const auto result = run_with(
      [](const protocol::dispatch_params& params) {
        params.ws.local<std::byte>(params.ws.layout.offset_of(region::hidden_states))[1] ^= std::byte{0x40};
      },
      {});
  EXPECT_EQ(result.status, case_status::fail);
  ASSERT_EQ(result.findings.size(), 2U) << result.reason;
  EXPECT_EQ(result.findings[0].verdict, verdict::wrong_sum);  // at rank 0, where the token came from
  EXPECT_EQ(result.findings[0].destination, 0);
  EXPECT_EQ(result.findings[0].byte, 0);
  EXPECT_EQ(result.findings[1].verdict, verdict::corruption);
  EXPECT_EQ(result.findings[0].token, result.findings[1].token);
}

TEST(run_case_planted_test, an_element_of_the_output) {
  const auto result =
      run_with({}, [](const protocol::combine_params& params) { params.output[48 * 3 + 7] ^= std::byte{2}; });
  expect_first(result, verdict::wrong_sum, "output", 1);
  EXPECT_EQ(result.findings[0].step, wrong_step);
  EXPECT_EQ(result.findings[0].token, 3);
  EXPECT_EQ(result.findings[0].byte, 6);
}

TEST(run_case_planted_test, a_byte_behind_the_output) {
  const auto result =
      run_with({}, [](const protocol::combine_params& params) { params.output[48 * 9] ^= std::byte{2}; });
  expect_first(result, verdict::overrun, "output", 1);
  EXPECT_EQ(result.findings[0].step, wrong_step);
  EXPECT_EQ(result.findings[0].byte, 48 * 9);
}

TEST(run_case_planted_test, a_guard_of_the_workspace) {
  const auto result = run_with(
      [](const protocol::dispatch_params& params) {
        const auto& layout = params.ws.layout;
        params.ws.local<std::byte>(layout.offset_of(region::topk_weights) + layout.size_of(region::topk_weights))[9] ^=
            std::byte{1};
      },
      {});
  expect_first(result, verdict::overrun, "topk_weights", 1);
  EXPECT_EQ(result.findings[0].byte, 3 * 12 * 16 + 9);
}

}  // namespace
}  // namespace switchyard::harness
