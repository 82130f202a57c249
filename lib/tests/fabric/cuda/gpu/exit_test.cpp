// SPDX-License-Identifier: Apache-2.0
// A program that never takes its instances down: they are destroyed when the process ends, and CUDA with them.
#include <cstdlib>

#include "cuda_group.hpp"
#include "lamport_steps.hpp"

namespace switchyard {
namespace {

void exit_with_instances() {
  const auto shape = test::lamport_exchange(2);
  static test::cuda_group group(shape, 1);
  test::on_every_rank(2, [&](int rank) {
    group.make_current(rank);
    group.step(rank).upload(test::make_inputs(shape, rank, 0), group.stream(rank));
    group.step(rank).dispatch(group.instance(rank), group.stream(rank));
    group.step(rank).combine(group.instance(rank), group.stream(rank));
    group.synchronize(rank);
    if (group.instance(rank).status()) std::abort();
  });
  std::exit(7);
}

class gpu_exit : public test::gpu_test<1> {};

TEST_F(gpu_exit, with_instances_alive_is_the_programs_own) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_instances(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace switchyard
