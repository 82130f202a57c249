// SPDX-License-Identifier: Apache-2.0
// A rank that declares another step in the middle of a case: what the record says of it.
#include <gtest/gtest.h>

#include "injection/injecting_host_fabric.hpp"
#include "recorded_run.hpp"
#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t recorded_seed = 1;

/// Every header word that rank 0 posts to rank 1, from the one numbered `first` on, says something else.
std::shared_ptr<injection::injector> other_headers(std::uint64_t first, std::uint64_t at_most) {
  injection::mutation plan;
  plan.op = injection::operation::post;
  plan.what = injection::effect::corrupt;
  plan.amount = 2;
  plan.region = layout::region::headers;
  plan.rank = 0;
  plan.peer = 1;
  plan.skip_first = first;
  plan.at_most = at_most;
  return std::make_shared<injection::injector>(plan);
}

case_result run_with(const case_spec& spec, const std::shared_ptr<injection::injector>& plan) {
  arena memory(required_bytes(spec));
  run_options options;
  options.seed = recorded_seed;
  options.make_fabric = [&](int) { return injection::make_injecting_host_fabric(plan); };
  return run_case(spec, memory, options);
}

TEST(record_of_mismatch, names_rank_field_and_both_values) {
  auto spec = small_case(3);
  spec.steps = 1;
  const auto counted = other_headers(0, 0);
  ASSERT_EQ(run_with(spec, counted).status, case_status::pass);
  ASSERT_GT(counted->matches(), 0U);
  spec.steps = 4;
  const auto run = record_run(
      {spec},
      [&](const case_spec& which) { return run_with(which, other_headers(counted->matches(), ~std::uint64_t{0})); },
      recorded_seed);
  EXPECT_EQ(run.code, exit_code::failed);
  const auto record = nlohmann::json::parse(run.lines);
  EXPECT_EQ(record["status"], "fail") << record;
  EXPECT_EQ(record["findings"][0]["verdict"], "wrong_fault");
  EXPECT_EQ(record["findings"][0]["step"], 1);  // the first step was whole
  ASSERT_EQ(record["faults"].size(), 3U);
  for (const auto& fault : record["faults"]) EXPECT_EQ(fault["code"], "step_mismatch") << fault;
  for (const auto& fault : record["faults"]) EXPECT_EQ(fault["field"], "incarnation") << fault;  // compared first
  const auto& witness = record["time"]["faults"][1];
  EXPECT_EQ(witness["rank"], 1);
  EXPECT_EQ(witness["suspect"], 0) << witness;
  EXPECT_EQ(witness["expected"], "0x1");  // as at the start
  EXPECT_EQ(witness["actual"], "0x3");    // 1 xor 2
  EXPECT_NE(run.shown.find("rank 1: step_mismatch in dispatch, incarnation: expected 1, got 3, rank 0"),
            std::string::npos)
      << run.shown;
  leave_records("switchyard_mismatch.jsonl", 1, recorded_seed, run.lines);
}

}  // namespace
}  // namespace switchyard::harness
