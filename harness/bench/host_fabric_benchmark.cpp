// SPDX-License-Identifier: Apache-2.0
// How close the host fabric's dispatch and combine come to memcpy of the same bytes by the same threads, and how fast
// the golden model is. CPU figures: they say nothing about NVLink.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "injection/unchecked_fabric.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/switchyard.hpp"

namespace {

using namespace switchyard;

constexpr comm_params shape{.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 1024, .hidden_size = 7168};
constexpr std::size_t row_bytes = 7168 * 2;

/// Storage aligned as inputs must be.
struct rows {
  explicit rows(std::size_t bytes) : storage((bytes + 63) / 64) {}
  struct alignas(64) line {
    std::byte bytes[64];
  };
  std::vector<line> storage;
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(storage.data());
  }
};

/// Distinct experts per token, the same in every run.
std::vector<std::int32_t> make_ids(int rank, std::int64_t num_tokens) {
  std::vector<std::int32_t> ids;
  std::uint64_t state = 0x9E3779B97F4A7C15ULL * (static_cast<std::uint64_t>(rank) + 1);
  std::vector<std::int32_t> experts(static_cast<std::size_t>(shape.num_experts));
  std::iota(experts.begin(), experts.end(), 0);
  for (std::int64_t t = 0; t < num_tokens; ++t) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(shape.top_k); ++k) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(experts[k], experts[k + (state >> 33) % (experts.size() - k)]);
      ids.push_back(experts[k]);
    }
  }
  return ids;
}

/// A group whose ranks share the process, with one worker each. `odd`: a fabric other than the library's own, or null.
class group {
 public:
  group(int ep_size, std::int64_t num_tokens, std::shared_ptr<fabric> odd)
      : num_tokens_(num_tokens), odd_fabric_(std::move(odd)) {
    const auto backends = make_in_process_backends(ep_size);
    ranks_.resize(static_cast<std::size_t>(ep_size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ep_size; ++rank) {
      threads.emplace_back([&, rank] { ranks_[static_cast<std::size_t>(rank)] = make_rank(rank, ep_size, backends); });
    }
    for (auto& thread : threads) thread.join();
    std::vector<reference::rank_routing> routing;
    for (auto& r : ranks_) routing.push_back({num_tokens, r->ids});
    const reference::step_shape step{ep_size, shape, num_tokens};
    traffic_ = reference::count_traffic(step, routing, row_bytes);
  }

  void dispatch() {
    for (auto& r : ranks_) {
      dispatch_inputs in;
      in.num_tokens = num_tokens_;
      in.hidden_states = {r->hidden.as<void>(), row_bytes, true};
      in.topk_ids = {r->ids_copy.as<void>(), static_cast<std::size_t>(shape.top_k) * 4, true};
      (void)r->instance->dispatch(in, {.runtime_max_tokens_per_rank = num_tokens_}, *r->stream);
    }
    synchronize();
  }
  void combine() {
    for (auto& r : ranks_) {
      const auto buffer = r->instance->combine_input_buffer(dtype::bf16);
      r->instance->combine({buffer.data, shape.hidden_size, dtype::bf16}, {r->output.as<void>(), num_tokens_},
                           *r->stream);
    }
    synchronize();
  }
  /// Each rank's worker copies as many rows as the rank receives, from and to memory of the same size.
  void copy_rows() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      auto* r = ranks_[i].get();
      const auto count = traffic_[i].unique_bytes / row_bytes;
      r->stream->enqueue([r, count, n = static_cast<std::uint64_t>(num_tokens_)] {
        for (std::uint64_t row = 0; row < count; ++row) {
          std::memcpy(r->scratch.as<std::byte>() + row * row_bytes, r->hidden.as<std::byte>() + row % n * row_bytes,
                      row_bytes);
        }
      });
    }
    synchronize();
  }
  [[nodiscard]] std::int64_t unique_bytes() const {
    return static_cast<std::int64_t>(
        std::accumulate(traffic_.begin(), traffic_.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const reference::traffic& t) { return sum + t.unique_bytes; }));
  }
  [[nodiscard]] bool healthy() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return !r->instance->status(); });
  }

 private:
  struct rank_state {
    rank_state(std::int64_t n, int ep_size, std::vector<std::int32_t> routed)
        : ids(std::move(routed)),
          hidden(static_cast<std::size_t>(n) * row_bytes),
          ids_copy(ids.size() * 4),
          output(static_cast<std::size_t>(n) * row_bytes),
          scratch(static_cast<std::size_t>(n * ep_size) * row_bytes) {
      std::memcpy(ids_copy.as<std::byte>(), ids.data(), ids.size() * 4);
      for (std::size_t i = 0; i < static_cast<std::size_t>(n) * row_bytes / 2; ++i) {
        hidden.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x3F80 + i % 97);
      }
    }
    std::vector<std::int32_t> ids;
    rows hidden, ids_copy, output, scratch;
    // The stream outlives the instance, whose last launch it may still be running.
    std::unique_ptr<host_stream> stream = std::make_unique<host_stream>(1);
    std::unique_ptr<one_sided_all_to_all> instance;
  };

  std::unique_ptr<rank_state> make_rank(int rank, int ep_size,
                                        const std::vector<std::shared_ptr<comm_backend>>& backends) const {
    auto state = std::make_unique<rank_state>(num_tokens_, ep_size, make_ids(rank, num_tokens_));
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = ep_size;
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    boot.custom_fabric = odd_fabric_;
    state->instance = std::make_unique<one_sided_all_to_all>(boot, shape);
    return state;
  }

  void synchronize() {
    for (auto& r : ranks_) r->stream->synchronize();
  }

  std::int64_t num_tokens_;
  std::shared_ptr<fabric> odd_fabric_;
  std::vector<std::unique_ptr<rank_state>> ranks_;
  std::vector<reference::traffic> traffic_;
};

template <class Body>
void run(benchmark::State& state, bool dispatches, bool combines, Body untimed, std::shared_ptr<fabric> odd = nullptr) {
  group g(static_cast<int>(state.range(0)), state.range(1), std::move(odd));
  const auto phase = [&](bool timed, auto body) {
    if (!timed) state.PauseTiming();
    body();
    if (!timed) state.ResumeTiming();
  };
  for (auto _ : state) {
    untimed(g);
    if (dispatches || combines) {
      phase(dispatches, [&] { g.dispatch(); });
      phase(combines, [&] { g.combine(); });
    }
  }
  if (!g.healthy()) state.SkipWithError("a rank recorded a fault");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * g.unique_bytes());
}

void copy_same_bytes(benchmark::State& state) {
  run(state, false, false, [](group& g) { g.copy_rows(); });
}
void dispatch_rows(benchmark::State& state) {
  run(state, true, false, [](group&) {});
}
void combine_rows(benchmark::State& state) {
  run(state, false, true, [](group&) {});
}
/// A round trip, by kernels that compare headers and by ones that do not.
void round_trip(benchmark::State& state) {
  run(state, true, true, [](group&) {});
}
void round_trip_unchecked(benchmark::State& state) {
  run(
      state, true, true, [](group&) {}, injection::make_unchecked_fabric(fabric_kind::host));
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ranks", "tokens"});
  for (const std::int64_t ranks : {1, 2, 4}) {
    for (const std::int64_t tokens : {16, 256, 1024}) b->Args({ranks, tokens});
  }
  b->UseRealTime()->Unit(benchmark::kMicrosecond);
}
BENCHMARK(copy_same_bytes)->Apply(shapes);
BENCHMARK(dispatch_rows)->Apply(shapes);
BENCHMARK(combine_rows)->Apply(shapes);

void small_steps(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ranks", "tokens"})
      ->Args({2, 1})
      ->Args({2, 16})
      ->Args({4, 1})
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(round_trip)->Apply(small_steps);
BENCHMARK(round_trip_unchecked)->Apply(small_steps);

void golden_dispatch(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  std::vector<reference::rank_routing> routing;
  for (int rank = 0; rank < ranks; ++rank) routing.push_back({state.range(1), make_ids(rank, state.range(1))});
  const reference::step_shape step{ranks, shape, state.range(1)};
  for (auto _ : state) benchmark::DoNotOptimize(reference::dispatch(step, routing));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * ranks * state.range(1) * shape.top_k);
}
BENCHMARK(golden_dispatch)->ArgNames({"ranks", "tokens"})->Args({8, 256})->Unit(benchmark::kMicrosecond);

void golden_combine(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  rows in(count * row_bytes);
  for (std::size_t i = 0; i < count * row_bytes / 2; ++i)
    in.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(0x3F80 + i % 97);
  rows out(row_bytes);
  std::vector<const std::byte*> terms;
  std::vector<int> owners;
  for (std::size_t i = 0; i < count; ++i) {
    terms.push_back(in.as<std::byte>() + i * row_bytes);
    owners.push_back(static_cast<int>(i));
  }
  for (auto _ : state) {
    reference::combine_token(terms, owners, 7168, dtype::bf16, reference::sum_order::slot_order, out.as<std::byte>());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(count * row_bytes));
}
BENCHMARK(golden_combine)->ArgName("rows")->Arg(2)->Arg(8)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
