// SPDX-License-Identifier: Apache-2.0
// Ranks on the CPU whose steps are captured once and replayed: dispatch, a consumer that reads the views where they lie
// and makes the experts' rows, combine. What cuda/gpu_replay.cpp does with graphs, under every sanitizer.
#pragma once

#include <algorithm>
#include <array>
#include <thread>

#include "injection/capturing_host_fabric.hpp"
#include "separate_machine.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/reference/simulated_expert.hpp"

namespace switchyard::harness {

class replaying_host_device final : public separate_host_device, public replaying_device {
 public:
  replaying_host_device(const case_spec& spec, int rank, std::pmr::memory_resource& memory,
                        std::shared_ptr<injection::launch_recorder> recorder)
      : separate_host_device(spec, rank, memory, {}, {}), spec_(spec), rank_(rank), recorder_(std::move(recorder)) {}
  // What is still queued refers to this.
  ~replaying_host_device() override { separate_host_device::synchronize(); }

  replaying_device* replaying() override { return this; }

  std::size_t capture(const std::function<void()>& launches) override {
    recorder_->begin();
    launches();
    graphs_.push_back(recorder_->end());
    return graphs_.size() - 1;
  }
  using separate_device::enqueue;
  void enqueue(const between_phases& between) override {
    recorder_->give([this, between] { stream().host().enqueue([this, between] { consume(between); }); });
  }
  void set_step(std::byte poison, std::chrono::nanoseconds pause) override {
    poison_ = poison;
    pause_ = pause;
  }
  void replay(std::size_t graph) override { injection::replay(graphs_.at(graph)); }
  [[nodiscard]] dispatch_result kept(const dispatch_result& views) const override {
    auto copies = views;
    for (std::size_t i = 0; i < views_of_result.size(); ++i) {
      auto& view = copies.*views_of_result.at(i);
      if (view.data != nullptr) view.data = const_cast<std::byte*>(kept_.at(i).data());
    }
    copies.recv_counts = kept_counts_;
    copies.dropped_routes = &kept_dropped_;
    copies.eplb_gathered_stats = kept_statistics_;
    return copies;
  }

 private:
  static constexpr std::array<rows_view dispatch_result::*, all_payloads.size()> views_of_result{
      &dispatch_result::hidden_states, &dispatch_result::topk_ids, &dispatch_result::topk_weights,
      &dispatch_result::hidden_states_scale, &dispatch_result::extra};

  [[nodiscard]] static std::size_t rows_of(const dispatch_result& views) {
    return views.recv_counts.size() * static_cast<std::size_t>(views.tokens_per_rank);
  }

  void consume(const between_phases& between) {
    const auto& views = between.views;
    kept_counts_.assign(views.recv_counts.begin(), views.recv_counts.end());
    kept_dropped_ = *views.dropped_routes;
    kept_statistics_.assign(views.eplb_gathered_stats.begin(), views.eplb_gathered_stats.end());
    for (std::size_t i = 0; i < views_of_result.size(); ++i) {
      const auto& view = views.*views_of_result.at(i);
      if (view.data != nullptr) kept_.at(i).assign(view.data, view.data + rows_of(views) * view.row_bytes);
    }
    compute_experts(between);
    for (const auto which : views_of_result) {
      const auto& view = views.*which;
      if (view.data != nullptr) std::fill_n(view.data, rows_of(views) * view.row_bytes, poison_);
    }
    auto* statistics = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(views.eplb_gathered_stats.data()));
    std::fill_n(statistics, views.eplb_gathered_stats.size_bytes(), poison_);
    if (pause_.count() > 0) std::this_thread::sleep_for(pause_);
  }

  void compute_experts(const between_phases& between) const {
    const auto& views = between.views;
    const auto top_k = static_cast<std::size_t>(spec_.params.top_k);
    const auto row_bytes = static_cast<std::size_t>(between.combine_hidden_size) * itemsize(spec_.params.dtype);
    std::vector<std::byte> whole(static_cast<std::size_t>(spec_.params.hidden_size) * itemsize(spec_.params.dtype));
    for (std::size_t row = 0; row < rows_of(views); ++row) {
      auto* out = between.expert_rows + row * row_bytes;
      const auto* first = reinterpret_cast<const std::int32_t*>(views.topk_ids.data + row * views.topk_ids.row_bytes);
      const std::span<const std::int32_t> ids{first, top_k};
      // Whatever the row order, a row that holds a token names an expert of this rank.
      const bool is_owned = std::ranges::any_of(
          ids, [&](auto id) { return reference::owner_of(id, spec_.params.num_experts, spec_.ep_size) == rank_; });
      if (!is_owned) {
        std::fill_n(out, row_bytes, std::byte{expert_poison});
        continue;
      }
      std::span<const float> weights;
      if (views.topk_weights.data != nullptr) {
        weights = {reinterpret_cast<const float*>(views.topk_weights.data + row * views.topk_weights.row_bytes), top_k};
      }
      const auto& scales = views.hidden_states_scale;
      reference::simulated_expert_row(rank_, spec_.ep_size, between.params, ids, weights,
                                      views.hidden_states.data + row * views.hidden_states.row_bytes,
                                      scales.data == nullptr ? nullptr : scales.data + row * scales.row_bytes,
                                      whole.data(), spec_.experts);
      std::copy_n(whole.data(), row_bytes, out);
    }
  }

  const case_spec& spec_;
  int rank_;
  std::shared_ptr<injection::launch_recorder> recorder_;
  std::vector<injection::kept_launches> graphs_;
  // Set while the stream is idle, used by what is then given to it.
  std::byte poison_{0};
  std::chrono::nanoseconds pause_{0};
  // Written by the stream, read when it is idle.
  std::array<std::vector<std::byte>, all_payloads.size()> kept_;
  std::vector<std::int32_t> kept_counts_;
  std::int32_t kept_dropped_ = 0;
  std::vector<std::int32_t> kept_statistics_;
};

class replaying_machine final : public machine {
 public:
  /// `kernels` of each rank may do wrong.
  using kernels_of_rank = std::function<host::host_kernels(int rank)>;
  explicit replaying_machine(kernels_of_rank kernels = [](int) { return host::production_kernels(); })
      : kernels_(std::move(kernels)) {}

  [[nodiscard]] std::optional<std::string> reason_to_skip(const case_spec&) const override { return std::nullopt; }
  [[nodiscard]] bool replays() const override { return true; }
  void require_memory(const case_spec&) const override {}
  std::vector<std::unique_ptr<rank_device>> open(const case_spec& spec, std::pmr::memory_resource& memory) override {
    recorders_.clear();
    std::vector<std::unique_ptr<rank_device>> devices;
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      recorders_.push_back(std::make_shared<injection::launch_recorder>());
      devices.push_back(std::make_unique<replaying_host_device>(spec, rank, memory, recorders_.back()));
    }
    return devices;
  }
  void abandon() override {}

  /// For run_options::make_fabric, of a case whose devices are open.
  [[nodiscard]] std::shared_ptr<fabric> fabric_of(int rank) const {
    return std::make_shared<injection::capturing_host_fabric>(recorders_.at(static_cast<std::size_t>(rank)),
                                                              kernels_(rank));
  }

 private:
  kernels_of_rank kernels_;
  std::vector<std::shared_ptr<injection::launch_recorder>> recorders_;
};

/// As the spec says, replays on the CPU.
inline case_result run_replayed(const case_spec& spec, const std::shared_ptr<replaying_machine>& on) {
  arena memory(2 * required_bytes(spec));
  run_options options;
  options.machine = on;
  options.make_fabric = [on](int rank) { return on->fabric_of(rank); };
  return run_case(spec, memory, options);
}

}  // namespace switchyard::harness
