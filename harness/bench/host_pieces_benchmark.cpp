// SPDX-License-Identifier: Apache-2.0
// What a run and a gate spend on the host beside moving rows: layout, plans, records, statistics. CPU figures.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "switchyard/config.hpp"
#include "switchyard/harness/gate/noise.hpp"
#include "switchyard/harness/gate/sample_lines.hpp"
#include "switchyard/harness/gate/verdict.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/step_plan.hpp"

namespace {

using namespace switchyard;
namespace gate = harness::gate;

/// Launches round a time, the same in every run; to the nanosecond, so that some tie, as real ones do.
std::vector<double> launches(std::size_t count, double us, std::uint64_t state) {
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    times.push_back(us + static_cast<double>(state >> 58) / 1000);
  }
  return times;
}

void layout(benchmark::State& state) {
  const comm_params params{.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 4096, .hidden_size = 7168};
  for (auto _ : state) {
    benchmark::DoNotOptimize(workspace_bytes(params, one_sided_config(), static_cast<int>(state.range(0))));
  }
}
BENCHMARK(layout)->Arg(8)->Arg(72)->Arg(256);

void plan_of_a_step(benchmark::State& state) {
  harness::case_spec spec;
  spec.ep_size = static_cast<int>(state.range(0));
  spec.params = {.num_experts = 288, .top_k = 8, .max_tokens_per_rank = 128, .hidden_size = 7168};
  spec.num_tokens = 128;
  spec.variation = harness::step_variation::vary;
  int step = 0;
  for (auto _ : state) benchmark::DoNotOptimize(harness::make_step_plan(spec, 1, step++));
}
BENCHMARK(plan_of_a_step)->Arg(8)->Arg(72);

void record_of_a_case(benchmark::State& state) {
  harness::case_spec spec;
  spec.suite = "smoke";
  spec.name = "deepseek_v3";
  spec.id = "smoke/deepseek_v3@ranks=4,tokens=16";
  harness::case_result result;
  result.times.resize(static_cast<std::size_t>(state.range(0)), {12'345, 23'456});
  for (auto _ : state) {
    benchmark::DoNotOptimize(harness::record_line(harness::case_json(spec, result, 1, std::chrono::milliseconds(7))));
  }
}
BENCHMARK(record_of_a_case)->Arg(2)->Arg(1000);

void line_of_a_sample(benchmark::State& state) {
  const gate::sample_line sample{"bench/deepseek_v3@phase=dispatch,ranks=2,tokens=16,transport=auto", 7, 12.345, 0};
  for (auto _ : state) benchmark::DoNotOptimize(harness::record_line(gate::to_json(sample)));
}
BENCHMARK(line_of_a_sample);

void u_test(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto a = launches(count, 20, 1);
  const auto b = launches(count, 20.02, 2);
  for (auto _ : state) benchmark::DoNotOptimize(gate::mann_whitney(a, b));
}
BENCHMARK(u_test)->Arg(4)->Arg(10)->Arg(25)->Arg(1000);

void shift(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto a = launches(count, 20, 1);
  const auto b = launches(count, 20.02, 2);
  const auto rank = gate::interval_rank(count, count);
  for (auto _ : state) benchmark::DoNotOptimize(gate::hodges_lehmann(a, b, rank));
}
BENCHMARK(shift)->Arg(10)->Arg(1001);

void noise(benchmark::State& state) {
  const auto times = launches(20, 20, 1);
  for (auto _ : state) benchmark::DoNotOptimize(gate::noise_of_launches(times));
}
BENCHMARK(noise);

void judge_scenarios(benchmark::State& state) {
  std::vector<gate::scenario_samples> scenarios(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    scenarios[i].id = "bench/deepseek_v3@tokens=" + std::to_string(i);
    scenarios[i].base_us = launches(10, 20, i);
    scenarios[i].current_us = launches(10, 20, i + 1000);
  }
  for (auto _ : state) benchmark::DoNotOptimize(gate::judge(scenarios, {}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(judge_scenarios)->Arg(108)->Arg(10'000);

}  // namespace

BENCHMARK_MAIN();
