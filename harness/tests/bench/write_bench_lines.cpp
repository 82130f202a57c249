// SPDX-License-Identifier: Apache-2.0
// Prints one line of every kind that a bench writes, and of every form that they take, for the test of the schema.
#include <iostream>
#include <nlohmann/json.hpp>

#include "sample_bench.hpp"
#include "sample_trips.hpp"
#include "switchyard/harness/bench_grid.hpp"
#include "switchyard/harness/bench_variants.hpp"
#include "switchyard/harness/lamport_tuning.hpp"
#include "switchyard/harness/record_json.hpp"

int main() {
  namespace yard = switchyard::harness;
  const auto print = [](const nlohmann::ordered_json& line) { std::cout << yard::record_line(line) << '\n'; };
  const auto print_of_shape = [&](nlohmann::ordered_json line) {
    line["shape"] = yard::to_json(yard::sample_shape());
    print(line);
  };
  const auto where = yard::read_environment();
  print(yard::bench_header_json(where, yard::sample_machine(), yard::sample_options(), "2026-01-01T00:00:00Z"));
  const yard::bench_machine unknown{{{"a GPU", {}}}, {}, "the library cannot be loaded", {}, {}};
  print(yard::bench_header_json(where, unknown, yard::sample_options(), "2026-01-01T00:00:00Z"));
  auto grid = yard::sample_options();
  grid.shapes = {yard::sample_shape(), yard::sample_grid_shape()};
  grid.named_keys = {"dispatch_format", "low_precision_combine"};
  print(yard::bench_header_json(where, yard::sample_machine(), grid, "2026-01-01T00:00:00Z"));
  print(yard::to_json(yard::sample_link()));
  for (const std::uint64_t remote_bytes : {0U, 400'000U}) {
    print(yard::to_json(yard::sample_point(remote_bytes), yard::sample_link(), {}));
    print(yard::to_json(yard::sample_full_point(remote_bytes), yard::sample_link(),
                        {.logical = true, .selection = true}));
  }
  auto with_variants = yard::sample_options();
  with_variants.variants = {yard::bench_variant::unchecked, yard::bench_variant::masked};
  print(yard::bench_header_json(where, yard::sample_machine(), with_variants, "2026-01-01T00:00:00Z"));
  auto few = yard::sample_varied_point(yard::bench_variant::masked, 0);
  few.round_trip_us.front().resize(2);
  for (const auto& one :
       yard::compare_variants(std::vector{yard::sample_varied_point(yard::bench_variant::usual, 0),
                                          yard::sample_varied_point(yard::bench_variant::unchecked, -0.05), few})) {
    print(yard::to_json(one));
  }
  print(yard::to_json(yard::nccl_library{"2.28.3", {}, {"NCCL_NVLS_ENABLE=0"}}));
  print(yard::to_json(yard::nccl_library{{}, "no such file", {}}));
  const std::vector measured{yard::sample_nccl(yard::nccl_memory::registered, 0, 9, 18),
                             yard::sample_failed_nccl(yard::nccl_memory::symmetric_window)};
  for (const auto& one : measured) print(yard::to_json(one));
  print(yard::nccl_best_json(measured, yard::sample_shape(), 16));
  print(yard::nccl_best_json({}, yard::sample_shape(), 16));
  using by = yard::bench_transport;
  constexpr auto fence = switchyard::transport::fence;
  constexpr auto lamport = switchyard::transport::lamport;
  print(yard::to_json(yard::repeated_point{16, by::automatic, fence, {10}, {4}, {5}, yard::sample_shape()}));
  print(yard::to_json(yard::repeated_point{
      16, by::lamport, lamport, {10, 11, 12, 13}, {4, 4, 4, 4}, {5, 5, 5, 6}, yard::sample_grid_shape()}));
  const std::vector points{yard::sample_comparison(16, 15, 9, 0.1), yard::sample_comparison(32, 15, 16, 0.1)};
  for (const std::size_t count : {0U, 1U, 2U}) {
    const std::vector some(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count));
    print_of_shape(yard::to_json(yard::crossover_of(some)));
    print(yard::to_json(some, yard::decide_threshold(some)));
  }
  print_of_shape(yard::to_json(yard::crossover_of({points.back()})));
  print_of_shape(yard::to_json(yard::crossover_of(
      yard::compare_transports(std::vector{yard::trip_samples{4, by::fence, {9}}, {4, by::lamport, {8}}}))));
  print_of_shape(yard::auto_check_json({}));
  print_of_shape(yard::auto_check_json(yard::check_auto(std::vector{yard::sample_trips(16, by::fence, 15, 0.1),
                                                                    yard::sample_trips(16, by::lamport, 9, 0.1),
                                                                    yard::sample_trips(16, by::automatic, 10, 0.1)})));
  print(yard::to_json(yard::grid_summary{}));
  for (const std::uint64_t remote_bytes : {0U, 400'000U}) {
    auto mxfp8 = yard::sample_point(remote_bytes / 2);
    mxfp8.shape = yard::sample_grid_shape();
    mxfp8.shape.low_precision_combine = switchyard::low_precision::none;
    const std::vector all{yard::sample_point(remote_bytes), mxfp8};
    print(yard::to_json(
        yard::summarise_grid(all, all, std::vector{yard::sample_nccl(yard::nccl_memory::plain, 0, 4, 6)})));
  }
  return 0;
}
