// SPDX-License-Identifier: Apache-2.0
#include "bench_group.hpp"

#include <string>

#include "injection/unchecked_fabric.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

one_sided_config config_for(const bench_options& options, const bench_way& way) {
  one_sided_config config;
  config.timeout = std::chrono::seconds(3);
  config.warmup_timeout = std::chrono::seconds(15);  // of construction too, which loads code
  config.enable_rank_mask = way.variant == bench_variant::masked;
  config.low_precision_combine = options.low_precision_combine;
  switch (way.transport) {
    case bench_transport::fence: config.lamport = choice::off; break;
    case bench_transport::lamport:
      config.lamport = choice::on;
      config.lamport_max_tokens = options.params.max_tokens_per_rank;
      break;
    case bench_transport::automatic:
      config.lamport = options.lamport;
      config.lamport_max_tokens = options.lamport_max_tokens;
      break;
  }
  return config;
}

}  // namespace

bench_group::bench_group(const bench_options& options, const bench_inputs& inputs)
    : timed_ranks(options.ranks),
      options_(options),
      ways_(ways_of(options)),
      library_(static_cast<std::size_t>(options.ranks)) {
  for (const auto kind : all_payloads) row_bytes_[static_cast<std::size_t>(kind)] = inputs.row_bytes(kind);
  for (const auto& one : ranks()) {
    auto& mine = library_[static_cast<std::size_t>(one.rank)];
    one.make_current();
    for (const auto kind : all_payloads) {
      const auto rows = inputs.rows(kind, one.rank);
      auto& memory = mine.payloads[static_cast<std::size_t>(kind)];
      memory = take_device(rows.size());
      check_cuda(cudaMemcpy(memory.get(), rows.data(), rows.size(), cudaMemcpyHostToDevice), "uploading inputs");
    }
    mine.output = take_device(static_cast<std::size_t>(options.params.max_tokens_per_rank) * output_row_bytes());
    check_cuda(cudaDeviceSynchronize(), "uploading inputs");
  }
  for (const auto& way : ways_) connect(way);
}

void bench_group::connect(const bench_way& way) {
  std::shared_ptr<fabric> odd;
  if (way.variant == bench_variant::unchecked) odd = injection::make_unchecked_fabric(fabric_kind::cuda);
  const auto backends = make_in_process_backends(options_.ranks);
  on_every_rank(options_.ranks, [&](int rank) {
    ranks()[static_cast<std::size_t>(rank)].make_current();
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = options_.ranks;
    boot.kind = fabric_kind::cuda;
    boot.device = rank;
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    boot.custom_fabric = odd;
    library_[static_cast<std::size_t>(rank)].instances.push_back(
        std::make_unique<one_sided_all_to_all>(boot, options_.params, config_for(options_, way)));
  });
}

bench_group::~bench_group() {
  for (auto& one : ranks()) {
    (void)cudaSetDevice(one.rank);
    (void)cudaStreamSynchronize(one.stream.get());
  }
  for (auto& mine : library_) mine.instances.clear();
}

std::size_t bench_group::output_row_bytes() const noexcept {
  return static_cast<std::size_t>(options_.params.hidden_size) * itemsize(options_.params.dtype);
}

step_buffers bench_group::fixed_buffers(const timed_rank& one) const {
  step_buffers result;
  for (std::size_t i = 0; i < result.payloads.size(); ++i) result.payloads[i] = bytes_of(of(one).payloads[i]);
  result.output = bytes_of(of(one).output);
  return result;
}

dispatch_result bench_group::dispatch(const timed_rank& on, std::int64_t tokens, const step_buffers& buffers) {
  dispatch_inputs inputs;
  inputs.num_tokens = tokens;
  constexpr std::array members{&dispatch_inputs::hidden_states, &dispatch_inputs::topk_ids,
                               &dispatch_inputs::topk_weights, &dispatch_inputs::hidden_states_scale,
                               &dispatch_inputs::extra};
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (row_bytes_[i] != 0) inputs.*members[i] = {buffers.payloads[i], row_bytes_[i], true};
  }
  return instance(on).dispatch(inputs, {tokens}, on.stream.get());
}

void bench_group::combine(const timed_rank& on, std::int64_t tokens, const step_buffers& buffers) {
  const auto type = options_.params.dtype;
  auto& used = instance(on);
  const void* rows = used.combine_input_buffer(type).data;
  used.combine({rows, options_.params.hidden_size, type}, {buffers.output, tokens}, on.stream.get());
}

void bench_group::synchronize() {
  timed_ranks::synchronize();
  for (auto& one : ranks()) {
    for (std::size_t i = 0; i < of(one).instances.size(); ++i) {
      const auto fault = of(one).instances[i]->status();
      if (!fault) continue;
      throw peer_fault("bench: rank " + std::to_string(one.rank) + ", transport " +
                           std::string(to_string(ways_[i].transport)) + ", " +
                           std::string(to_string(ways_[i].variant)) + ", has recorded a fault: " +
                           std::string(to_string(fault->code)) + " of rank " + std::to_string(fault->rank),
                       *fault);
    }
  }
}

}  // namespace switchyard::harness
