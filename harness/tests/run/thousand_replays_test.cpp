// SPDX-License-Identifier: Apache-2.0
// The suite graphs, as far as its steps are small, with the host fabric's replays in place of a GPU's.
#include <gtest/gtest.h>

#include "replaying_machine.hpp"
#include "small_case.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {
namespace {

/// Runs the cases whose ids match; every one has the bits of the same steps launched one by one.
void expect_the_bits_of_eager_steps(const std::string& filter) {
  case_selection selection;
  selection.suites = {"graphs"};
  selection.filter = filter;
  const auto cases = select_cases(suite_catalog(SWITCHYARD_TEST_SCENARIOS), selection);
  ASSERT_FALSE(cases.empty()) << filter;
  const auto machine = std::make_shared<replaying_machine>();
  for (auto spec : cases) {
    const auto replayed = run_replayed(spec, machine);
    EXPECT_EQ(replayed.status, case_status::pass) << spec.id << ": " << explain(replayed);
    spec.launch = launch_mode::eager;
    const auto eager = run_separately(spec, nullptr);
    EXPECT_EQ(replayed.results_digest, eager.results_digest) << spec.id;
    EXPECT_EQ(replayed.checked_bytes, eager.checked_bytes) << spec.id;
    EXPECT_EQ(replayed.transport, eager.transport) << spec.id;
    EXPECT_NE(replayed.results_digest, 0U) << spec.id;
  }
}

TEST(thousand_replays, by_lamport) { expect_the_bits_of_eager_steps("*/lamport@*"); }

TEST(thousand_replays, by_fence) { expect_the_bits_of_eager_steps("*/fence@*"); }

TEST(thousand_replays, past_the_end_of_the_epoch) { expect_the_bits_of_eager_steps("*/epoch_wrap@*"); }

TEST(thousand_replays, of_varying_shapes) { expect_the_bits_of_eager_steps("*/varying@*ranks=3*"); }

}  // namespace
}  // namespace switchyard::harness
