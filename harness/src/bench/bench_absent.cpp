// SPDX-License-Identifier: Apache-2.0
// Stands in where CUDA is off.
#include "switchyard/harness/bench_run.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {

support bench_support(int) { return {false, "this build has no CUDA fabric; it is what bench measures"}; }

void run_bench(const bench_options& options, bench_observer&) {
  throw unsupported(bench_support(options.ranks).reason);
}

}  // namespace switchyard::harness
