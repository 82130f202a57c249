// SPDX-License-Identifier: Apache-2.0
// Cases whose workspaces are too small: they pass where every dispatch is refused, and fail where one is not.
#include <gtest/gtest.h>

#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

case_spec lacking(lacking_room what, dispatch_format format) {
  auto spec = small_case(3);
  spec.params.dispatch_format = format;
  spec.params.hidden_size = 64;
  spec.eplb_stats = 10;
  spec.lacks = what;
  return spec;
}

case_result run_refused(const case_spec& spec) {
  arena memory(small_arena_bytes);
  return run_case(spec, memory, {});
}

TEST(run_case_refused, passes_where_every_step_is_refused_on_every_rank) {
  for (const auto& [what, format] : {std::pair{lacking_room::hidden_states, dispatch_format::bf16},
                                     {lacking_room::hidden_states, dispatch_format::fp8},
                                     {lacking_room::hidden_states_scale, dispatch_format::nvfp4},
                                     {lacking_room::hidden_states_scale, dispatch_format::mxfp4},
                                     {lacking_room::hidden_states_scale, dispatch_format::fp8_block128},
                                     {lacking_room::extra, dispatch_format::mxfp8},
                                     {lacking_room::eplb_stats, dispatch_format::mxfp8}}) {
    const auto result = run_refused(lacking(what, format));
    EXPECT_EQ(result.status, case_status::pass) << to_string(what) << ' ' << to_string(format) << explain(result);
    EXPECT_TRUE(result.times.empty()) << "no step has run";
  }
}

// A scenario may not ask for it: rows of 4 bits fit a workspace that is made for them.
TEST(run_case_refused, fails_where_a_step_is_not_refused) {
  auto spec = lacking(lacking_room::hidden_states, dispatch_format::mxfp4);
  spec.timeout = std::chrono::milliseconds(500);
  const auto result = run_refused(spec);
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_NE(result.reason.find("must be refused for hidden_states.row_bytes, of which 32 are needed and 32 fit"),
            std::string::npos)
      << result.reason;
}

TEST(run_case_refused, is_not_the_case_itself) {
  for (const auto format : {dispatch_format::bf16, dispatch_format::nvfp4, dispatch_format::mxfp8}) {
    const auto result = run_refused(lacking(lacking_room::nothing, format));
    EXPECT_EQ(result.status, case_status::pass) << explain(result);
  }
}

}  // namespace
}  // namespace switchyard::harness
