// SPDX-License-Identifier: Apache-2.0
// Prints one line of every kind that a bench writes, and of every form that they take, for the test of the schema.
#include <iostream>
#include <nlohmann/json.hpp>

#include "sample_bench.hpp"
#include "switchyard/harness/bench_repeat.hpp"
#include "switchyard/harness/record_json.hpp"

int main() {
  namespace yard = switchyard::harness;
  const auto print = [](const nlohmann::ordered_json& line) { std::cout << yard::record_line(line) << '\n'; };
  const auto where = yard::read_environment();
  print(yard::bench_header_json(where, yard::sample_machine(), yard::sample_options(), "2026-01-01T00:00:00Z"));
  const yard::bench_machine unknown{{{"a GPU", {}}}, {}, "the library cannot be loaded", {}, {}};
  print(yard::bench_header_json(where, unknown, yard::sample_options(), "2026-01-01T00:00:00Z"));
  print(yard::to_json(yard::sample_link()));
  for (const std::uint64_t remote_bytes : {0U, 400'000U}) {
    print(yard::to_json(yard::sample_point(remote_bytes), yard::sample_link(), {}));
    print(yard::to_json(yard::sample_full_point(remote_bytes), yard::sample_link(),
                        {.logical = true, .selection = true}));
  }
  print(yard::to_json(yard::nccl_library{"2.28.3", {}, {"NCCL_NVLS_ENABLE=0"}}));
  print(yard::to_json(yard::nccl_library{{}, "no such file", {}}));
  const std::vector measured{yard::sample_nccl(yard::nccl_memory::registered, 0, 9, 18),
                             yard::sample_failed_nccl(yard::nccl_memory::symmetric_window)};
  for (const auto& one : measured) print(yard::to_json(one));
  print(yard::nccl_best_json(measured, 16));
  print(yard::nccl_best_json({}, 16));
  print(yard::to_json(yard::repeated_point{16, {10}, {4}, {5}}));
  print(yard::to_json(yard::repeated_point{16, {10, 11, 12, 13}, {4, 4, 4, 4}, {5, 5, 5, 6}}));
  return 0;
}
