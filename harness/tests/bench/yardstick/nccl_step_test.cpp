// SPDX-License-Identifier: Apache-2.0
// NCCL steps are judged by their results: a right one passes, one that wrote nothing does not.
#include "nccl_step.hpp"

#include "../gpu/needs_two_gpus.hpp"

namespace switchyard::harness {
namespace {

class nccl_step_on_two_gpus
    : public needs_two_gpus,
      public ::testing::WithParamInterface<std::tuple<nccl_scheme, nccl_memory, std::optional<dispatch_format>>> {};

void run_once(nccl_group& group, nccl_step& step) {
  on_every_rank(group.size(), [&](int rank) {
    const auto& one = group.ranks()[static_cast<std::size_t>(rank)];
    one.make_current();
    step.dispatch(one);
    step.combine(one);
  });
  group.synchronize();
}

TEST_P(nccl_step_on_two_gpus, passes_when_it_ran_and_fails_when_it_did_not) {
  const auto [scheme, memory, format] = GetParam();
  auto options = small_bench({1, 33});
  options.params.dispatch_format = format;
  if (format == dispatch_format::mxfp8) options.params.hidden_size = 2880;  // rows of scales of 90 bytes
  const bench_inputs inputs(options);
  std::unique_ptr<nccl_group> group;
  try {
    group = std::make_unique<nccl_group>(load_nccl(""), options.ranks);
  } catch (const nccl_error& failure) {
    GTEST_SKIP() << failure.what();
  }
  const auto step = make_nccl_step(scheme, *group, options, inputs, memory);
  for (const auto tokens : options.tokens) {
    step->prepare(tokens);
    step->spoil();
    EXPECT_NE(step->check_dispatch(), "") << tokens;
    EXPECT_NE(step->check_combine(), "") << tokens;
    run_once(*group, *step);
    EXPECT_EQ(step->check_dispatch(), "") << tokens;
    EXPECT_EQ(step->check_combine(), "") << tokens;
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, nccl_step_on_two_gpus,
    ::testing::Combine(::testing::Values(nccl_scheme::all_gather, nccl_scheme::send_receive),
                       ::testing::Values(nccl_memory::plain, nccl_memory::registered, nccl_memory::symmetric_window),
                       ::testing::Values(std::nullopt, dispatch_format::mxfp8, dispatch_format::nvfp4)),
    [](const auto& one) {
      return std::string(to_string(std::get<0>(one.param))) + "_" + std::string(to_string(std::get<1>(one.param))) +
             "_" + format_word(std::get<2>(one.param));
    });

}  // namespace
}  // namespace switchyard::harness
