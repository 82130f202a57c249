// SPDX-License-Identifier: Apache-2.0
#include "gpu_replay.hpp"

#include <algorithm>

#include "switchyard/harness/verifier.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {

gpu_replay::gpu_replay(const case_spec& spec, int rank, gpu_lane& lane, std::byte* block)
    : spec_(spec), lane_(lane), block_(block), places_(spec) {
  for (std::int64_t expert = spec.params.num_experts - 1; expert >= 0; --expert) {
    const auto id = static_cast<std::int32_t>(expert);
    if (reference::owner_of(id, spec.params.num_experts, spec.ep_size) != rank) continue;
    first_expert_ = id;
    ++num_owned_;
  }
  // A kernel's first launch may make room for its stack, and wait for the whole device to do so.
  const current_device current(lane.device());
  set_step(std::byte{0}, std::chrono::nanoseconds(0));
  launch_keep({}, lane.stream());
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    expert_shape nothing;
    nothing.type = type;
    launch_experts(nothing, lane.stream());
  }
  launch_poison({}, reinterpret_cast<const replay_words*>(block_ + places_.words), lane.stream());
  lane.synchronize();
}

gpu_replay::~gpu_replay() {
  for (auto* graph : graphs_) (void)cudaGraphExecDestroy(graph);
}

std::size_t gpu_replay::capture(const std::function<void()>& launches) {
  cudaGraph_t graph = nullptr;
  // Of this thread alone: others may be allocating.
  check_cuda(cudaStreamBeginCapture(lane_.stream(), cudaStreamCaptureModeThreadLocal), "beginning a capture");
  try {
    launches();
  } catch (...) {
    (void)cudaStreamEndCapture(lane_.stream(), &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(lane_.stream(), &graph), "ending a capture");
  cudaGraphExec_t made = nullptr;
  const auto instantiated = cudaGraphInstantiate(&made, graph, 0);
  (void)cudaGraphDestroy(graph);
  check_cuda(instantiated, "instantiating a step's graph");
  graphs_.push_back(made);
  check_cuda(cudaGraphUpload(made, lane_.stream()), "uploading a step's graph");
  return graphs_.size() - 1;
}

void gpu_replay::enqueue(const between_phases& between) {
  const auto& views = between.views;
  const auto rows = static_cast<std::uint64_t>(spec_.ep_size) * static_cast<std::uint64_t>(views.tokens_per_rank);
  viewed_areas payloads;
  for (std::size_t i = 0; i < all_payloads.size(); ++i) {
    const auto& view = view_of(views, all_payloads.at(i));
    if (view.data == nullptr) continue;
    // No more than there is room for, whatever the library says; that is the verifier's to judge.
    const auto row_bytes = std::min(view.row_bytes, payload_row_bytes(spec_, all_payloads.at(i)));
    payloads.areas[payloads.count++] = {view.data, block_ + places_.payloads.at(i), rows * row_bytes};
  }
  const auto most_statistics =
      static_cast<std::size_t>(spec_.ep_size) * static_cast<std::size_t>(spec_.eplb_stats) * sizeof(std::int32_t);
  payloads.areas[payloads.count++] = {
      reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(views.eplb_gathered_stats.data())),
      block_ + places_.statistics, std::min(views.eplb_gathered_stats.size_bytes(), most_statistics)};
  auto everything = payloads;
  // The counts are the library's to keep: they are not poisoned.
  everything.areas[everything.count++] = {
      reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(views.recv_counts.data())), block_ + places_.counts,
      views.recv_counts.size_bytes()};
  everything.areas[everything.count++] = {reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(views.dropped_routes)),
                                          block_ + places_.dropped_routes, sizeof(std::int32_t)};
  launch_keep(everything, lane_.stream());

  expert_shape experts;
  experts.hidden = views.hidden_states.data;
  experts.scales = views.hidden_states_scale.data;
  experts.ids = reinterpret_cast<const std::int32_t*>(views.topk_ids.data);
  experts.weights = reinterpret_cast<const float*>(views.topk_weights.data);
  experts.rows = between.expert_rows;
  experts.sources = static_cast<std::uint64_t>(spec_.ep_size);
  experts.tokens_per_rank = static_cast<std::uint64_t>(views.tokens_per_rank);
  experts.hidden_row_bytes = views.hidden_states.row_bytes;
  experts.scale_row_bytes = views.hidden_states_scale.row_bytes;
  experts.elements = static_cast<std::uint64_t>(between.combine_hidden_size);
  experts.top_k = static_cast<std::int32_t>(spec_.params.top_k);
  experts.first_expert = first_expert_;
  experts.num_owned = num_owned_;
  experts.type = spec_.params.dtype;
  experts.hidden_type = row_dtype(between.params);
  experts.format = between.params.dispatch_format.value_or(dispatch_format::bf16);
  experts.identity = spec_.experts == reference::expert_law::identity;
  launch_experts(experts, lane_.stream());
  launch_poison(payloads, reinterpret_cast<const replay_words*>(block_ + places_.words), lane_.stream());
}

void gpu_replay::set_step(std::byte poison, std::chrono::nanoseconds pause) {
  const replay_words words{std::to_integer<std::uint64_t>(poison) * 0x0101010101010101ULL,
                           static_cast<std::uint64_t>(pause.count())};
  lane_.write(block_ + places_.words, reinterpret_cast<const std::byte*>(&words), sizeof(words));
}

void gpu_replay::replay(std::size_t graph) {
  check_cuda(cudaGraphLaunch(graphs_.at(graph), lane_.stream()), "replaying a step");
}

dispatch_result gpu_replay::kept(const dispatch_result& views) const {
  constexpr std::array<rows_view dispatch_result::*, all_payloads.size()> members{
      &dispatch_result::hidden_states, &dispatch_result::topk_ids, &dispatch_result::topk_weights,
      &dispatch_result::hidden_states_scale, &dispatch_result::extra};
  auto copies = views;
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto& view = copies.*members.at(i);
    if (view.data != nullptr) view.data = block_ + places_.payloads.at(i);
  }
  copies.recv_counts = {reinterpret_cast<const std::int32_t*>(block_ + places_.counts), views.recv_counts.size()};
  copies.dropped_routes = reinterpret_cast<const std::int32_t*>(block_ + places_.dropped_routes);
  copies.eplb_gathered_stats = {reinterpret_cast<const std::int32_t*>(block_ + places_.statistics),
                                views.eplb_gathered_stats.size()};
  return copies;
}

}  // namespace switchyard::harness
