// SPDX-License-Identifier: Apache-2.0
// An error that a GPU does not recover from, in a process of its own: the case is device_lost, and so are those behind
// it, unrun.
#include <cstdio>
#include <cstdlib>

#include "../small_case.hpp"
#include "gpu_cases.hpp"
#include "storing_fabric.hpp"

namespace switchyard::harness {
namespace {

class lost_gpu : public gpu_cases<1> {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // CUDA does not survive a fork
    gpu_cases::SetUp();
  }

  /// Ends the process: 0 when all is as it must be.
  [[noreturn]] void lose_it() {
    auto spec = small_case(2);
    spec.timeout = std::chrono::milliseconds(500);
    arena memory(required_bytes(spec));
    run_options options;
    options.machine = machine_;
    const auto before = run_case(spec, memory, options);
    options.make_fabric = [](int rank) -> std::shared_ptr<fabric> {
      if (rank != 1) return nullptr;
      return std::make_shared<storing_fabric>(planted_store{.reads_where_nothing_is = true});
    };
    const auto lost = run_case(spec, memory, options);
    options.make_fabric = {};
    const auto after = run_case(spec, memory, options);
    const bool right = before.status == case_status::pass && lost.status == case_status::device_lost &&
                       lost.reason.starts_with("GPU 0 is lost: cudaError") &&
                       after.status == case_status::device_lost && after.reason.starts_with("not run: GPU 0 is lost: ");
    for (const auto* result : {&before, &lost, &after}) {
      std::fprintf(stderr, "%s\n", explain(*result).c_str());
    }
    std::_Exit(right ? 0 : 1);
  }
};

TEST_F(lost_gpu, is_said_of_the_case_and_of_those_behind_it) {
  EXPECT_EXIT(lose_it(), testing::ExitedWithCode(0), "not run: GPU 0 is lost");
}

}  // namespace
}  // namespace switchyard::harness
