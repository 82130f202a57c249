// SPDX-License-Identifier: Apache-2.0
#include "bench_group.hpp"

#include <exception>
#include <string>
#include <thread>

#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t stamp_words = 8192;  // more than any graph of the bench writes

void allow_peers(int device, int devices) {
  for (int peer = 0; peer < devices; ++peer) {
    if (peer == device) continue;
    const auto result = cudaDeviceEnablePeerAccess(peer, 0);
    if (result != cudaErrorPeerAccessAlreadyEnabled) check_cuda(result, "reaching the peer's memory");
    (void)cudaGetLastError();
  }
}

/// Runs `body(rank)` on a thread each and throws the first failure: construction is collective.
template <class Body>
void on_every_rank(int ranks, Body body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    threads.reserve(failures.size());
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace

bench_group::bench_group(const bench_options& options, const bench_inputs& inputs)
    : options_(options), ranks_(static_cast<std::size_t>(options.ranks)) {
  for (const auto kind : all_payloads) row_bytes_[static_cast<std::size_t>(kind)] = inputs.row_bytes(kind);
  constexpr auto line = signal_words::spacing * sizeof(std::uint64_t);
  for (int rank = 0; rank < options.ranks; ++rank) {
    auto& one = ranks_[static_cast<std::size_t>(rank)];
    one.rank = rank;
    one.make_current();
    allow_peers(rank, options.ranks);
    one.stream = make_stream();
    one.begin = make_event();
    one.end = make_event();
    const auto words = (static_cast<std::size_t>(options.ranks) + 1) * line;
    one.words = take_device(words);
    check_cuda(cudaMemset(one.words.get(), 0, words), "clearing signals");
    one.stamps = take_device(stamp_words * sizeof(std::uint64_t));
    for (const auto kind : all_payloads) {
      const auto rows = inputs.rows(kind, rank);
      auto& memory = one.payloads[static_cast<std::size_t>(kind)];
      memory = take_device(rows.size());
      check_cuda(cudaMemcpy(memory.get(), rows.data(), rows.size(), cudaMemcpyHostToDevice), "uploading inputs");
    }
    one.output = take_device(static_cast<std::size_t>(options.params.max_tokens_per_rank * options.params.hidden_size) *
                             itemsize(options.params.dtype));
    check_cuda(cudaDeviceSynchronize(), "uploading inputs");
  }
  for (auto& one : ranks_) {
    one.signals.rank = one.rank;
    one.signals.ranks = options.ranks;
    for (const auto& peer : ranks_) {
      one.signals.of_rank[static_cast<std::size_t>(peer.rank)] = static_cast<std::uint64_t*>(peer.words.get());
    }
  }
  const auto backends = make_in_process_backends(options.ranks);
  on_every_rank(options.ranks, [&](int rank) {
    auto& one = ranks_[static_cast<std::size_t>(rank)];
    one.make_current();
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = options.ranks;
    boot.kind = fabric_kind::cuda;
    boot.device = rank;
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    one_sided_config config;
    config.timeout = std::chrono::seconds(3);
    config.warmup_timeout = std::chrono::seconds(15);  // of construction too, which loads code
    one.instance = std::make_unique<one_sided_all_to_all>(boot, options.params, config);
  });
}

bench_group::~bench_group() {
  for (auto& one : ranks_) {
    (void)cudaSetDevice(one.rank);
    (void)cudaStreamSynchronize(one.stream.get());
  }
  for (auto& one : ranks_) one.instance.reset();
}

dispatch_result bench_group::dispatch(bench_rank& on, std::int64_t tokens) {
  dispatch_inputs inputs;
  inputs.num_tokens = tokens;
  constexpr std::array members{&dispatch_inputs::hidden_states, &dispatch_inputs::topk_ids,
                               &dispatch_inputs::topk_weights, &dispatch_inputs::hidden_states_scale,
                               &dispatch_inputs::extra};
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (row_bytes_[i] != 0) inputs.*members[i] = {on.payloads[i].get(), row_bytes_[i], true};
  }
  return on.instance->dispatch(inputs, {tokens}, on.stream.get());
}

void bench_group::combine(bench_rank& on, std::int64_t tokens) {
  const auto type = options_.params.dtype;
  const void* rows = on.instance->combine_input_buffer(type).data;
  on.instance->combine({rows, options_.params.hidden_size, type}, {on.output.get(), tokens}, on.stream.get());
}

void bench_group::synchronize() {
  for (auto& one : ranks_) {
    one.make_current();
    check_cuda(cudaStreamSynchronize(one.stream.get()), "waiting for a rank");
    if (const auto fault = one.instance->status()) {
      throw peer_fault("bench: rank " + std::to_string(one.rank) + " has recorded a fault: " +
                           std::string(to_string(fault->code)) + " of rank " + std::to_string(fault->rank),
                       *fault);
    }
  }
}

std::vector<double> bench_group::await_times() {
  synchronize();
  std::vector<double> result;
  for (auto& one : ranks_) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, one.begin.get(), one.end.get()), "time between events");
    result.push_back(static_cast<double>(milliseconds) * 1000.0);
  }
  return result;
}

}  // namespace switchyard::harness
