// SPDX-License-Identifier: Apache-2.0
#include "switchyard/one_sided_all_to_all.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <string>
#include <utility>

#include "checkpoint.hpp"
#include "opened_workspace.hpp"
#include "recovery.hpp"
#include "rules.hpp"
#include "shared_workspace.hpp"
#include "transport_choice.hpp"

namespace switchyard {
namespace {

using layout::region;
using protocol::header_word;

/// A step that is over again unless it is kept.
class step_begin {
 public:
  step_begin(shared_workspace& workspace, std::uint32_t instance) : workspace_(workspace) {
    workspace.begin_step(instance);
  }
  ~step_begin() {
    if (!kept_) workspace_.end_step();
  }
  step_begin(const step_begin&) = delete;
  step_begin& operator=(const step_begin&) = delete;
  void keep() { kept_ = true; }

 private:
  shared_workspace& workspace_;
  bool kept_ = false;
};

std::uint32_t shift_of(std::uint64_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

/// The payloads in the order of the payload_set's bits, with their header words and regions.
struct payload_slot {
  payload dispatch_inputs::*input;
  rows_view dispatch_result::*view;
  header_word row_bytes_word;
  region view_region;
  region received_in;  ///< where peers store the rows
};
constexpr std::array<payload_slot, protocol::max_payloads> payload_slots{{
    {&dispatch_inputs::hidden_states, &dispatch_result::hidden_states, header_word::hidden_states_row_bytes,
     region::hidden_states, region::hidden_states},
    {&dispatch_inputs::topk_ids, &dispatch_result::topk_ids, header_word::topk_ids_row_bytes, region::topk_ids,
     region::topk_ids_inbox},
    {&dispatch_inputs::topk_weights, &dispatch_result::topk_weights, header_word::topk_weights_row_bytes,
     region::topk_weights, region::topk_weights},
    {&dispatch_inputs::hidden_states_scale, &dispatch_result::hidden_states_scale,
     header_word::hidden_states_scale_row_bytes, region::hidden_states_scale, region::hidden_states_scale},
    {&dispatch_inputs::extra, &dispatch_result::extra, header_word::extra_row_bytes, region::extra, region::extra},
}};

}  // namespace

class one_sided_all_to_all::impl {
 public:
  impl(const bootstrap& boot, const comm_params& params, const one_sided_config& config)
      : params_(params), config_(config), rank_(boot.rank), ep_size_(boot.ep_size) {
    if (!boot.comm_backend) throw invalid_argument("bootstrap: comm_backend is null, must be this rank's backend");
    auto opened = open_workspace(boot, params, config);
    layout_ = opened.layout;
    workspace_ = std::move(opened.workspace);
    instance_ = opened.instance;
  }

  ~impl() { destroy(); }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  dispatch_result dispatch(const dispatch_inputs& inputs, const dispatch_options& options, stream_ref stream) {
    const auto inside = enter("dispatch", stream);
    step_begin step(*workspace_, instance_);
    auto& workspace = **workspace_;
    const auto tokens_per_rank = options.runtime_max_tokens_per_rank.value_or(params_.max_tokens_per_rank);
    check_tokens_per_rank(tokens_per_rank, params_);
    check_dispatch(inputs, tokens_per_rank, params_, config_);
    const auto& statistics = options.eplb_local_stats;
    check_statistics(statistics, config_, {(*workspace_)->data(), layout_.total_bytes});

    tokens_per_rank_ = static_cast<std::uint64_t>(tokens_per_rank);
    num_tokens_ = static_cast<std::uint64_t>(inputs.num_tokens);
    const auto chosen = choose_transport(config_, tokens_per_rank, inputs);
    transport_ = chosen.chosen;
    const bool lamport = transport_ == transport::lamport;
    plan_ = workspace.plan({tokens_per_rank_, transport_, config_.max_blocks}, stream);

    protocol::dispatch_params launch;
    launch.routing = {static_cast<const std::int32_t*>(inputs.topk_ids.data),
                      static_cast<std::uint32_t>(num_tokens_),
                      static_cast<std::uint32_t>(params_.top_k),
                      {params_.num_experts, ep_size_},
                      config_.enable_rank_mask ? protocol::active_ranks(&mask_words().due) : protocol::active_ranks()};
    launch.invalid_expert_id = params_.invalid_expert_id;
    launch.num_tokens = num_tokens_;
    launch.tokens_per_rank = tokens_per_rank_;
    launch.chunk_shift = shift_of(plan_.dispatch.chunk_tokens);
    launch.receive_shift = protocol::receive_parts_shift(launch.tokens_per_rank);
    launch.routes_all = plan_.routes_all;

    dispatch_result result;
    result.tokens_per_rank = tokens_per_rank;
    result.order = lamport ? row_order::positional : row_order::packed;
    result.transport = transport_;
    result.transport_reason = chosen.reason;
    const auto* counts = (*workspace_)->data() + layout_.offset_of(region::recv_counts);
    result.recv_counts = {reinterpret_cast<const std::int32_t*>(counts), static_cast<std::size_t>(ep_size_)};
    result.dropped_routes = reinterpret_cast<const std::int32_t*>(&mask_words().dropped_routes);

    words_ = {};
    std::uint32_t payload_set = 0;
    for (std::size_t i = 0; i < payload_slots.size(); ++i) {
      const auto& slot = payload_slots[i];
      const auto& input = inputs.*slot.input;
      if (!input.present) continue;
      if (overlaps(input.data, num_tokens_ * input.row_bytes, (*workspace_)->data(), layout_.total_bytes)) {
        throw invalid_argument(std::string(layout::region_table[static_cast<std::size_t>(slot.view_region)].name) +
                               ".data lies in the workspace, must be memory of yours: peers write there meanwhile");
      }
      payload_set |= 1U << i;
      protocol::set(words_, slot.row_bytes_word, static_cast<std::uint32_t>(input.row_bytes));
      // The receiver's own blocks fill the views of a Lamport step.
      launch.payloads.add(static_cast<const std::byte*>(input.data), static_cast<std::uint32_t>(input.row_bytes),
                          layout_.offset_of(lamport ? slot.view_region : slot.received_in));
      result.*slot.view = {(*workspace_)->data() + layout_.offset_of(slot.view_region), input.row_bytes};
    }
    launch.statistics = {statistics.data(), static_cast<std::uint32_t>(statistics.size())};
    const auto* all_statistics = (*workspace_)->data() + layout_.offset_of(region::eplb_stats);
    result.eplb_gathered_stats = {reinterpret_cast<const std::int32_t*>(all_statistics),
                                  static_cast<std::size_t>(ep_size_) * statistics.size()};
    protocol::set(words_, header_word::payload_set, payload_set);
    protocol::set(words_, header_word::eplb_stats_length, launch.statistics.length);
    protocol::set(words_, header_word::instance, instance_);
    protocol::set(words_, header_word::runtime_max_tokens_per_rank, static_cast<std::uint32_t>(tokens_per_rank));
    protocol::set(words_, header_word::transport, static_cast<std::uint32_t>(transport_));
    protocol::set(words_, header_word::num_tokens, static_cast<std::uint32_t>(inputs.num_tokens));
    launch.words = words_;
    launch.words_digest = protocol::digest_of(words_);

    workspace.launch(launch, plan_.dispatch, stream);
    workspace_->has_called(instance_);
    step.keep();
    return result;
  }

  rows_view combine_input_buffer(dtype type) {
    check_alive();
    workspace_->require_usable("combine_input_buffer");
    workspace_->require_step("combine_input_buffer", instance_);
    const auto row_bytes = static_cast<std::size_t>(params_.hidden_size) * itemsize(type);
    if (row_bytes > layout_.dims.combine_row_bytes) {
      throw invalid_argument("combine_input_buffer: rows of " + std::string(to_string(type)) + " have " +
                             std::to_string(row_bytes) + " bytes, must be at most the workspace's " +
                             std::to_string(layout_.dims.combine_row_bytes));
    }
    return {combine_rows(), row_bytes};
  }

  void combine(const combine_inputs& inputs, const combine_output& output, stream_ref stream) {
    const auto inside = enter("combine", stream);
    workspace_->require_step("combine", instance_);
    auto& workspace = **workspace_;
    check_combine(inputs, output, static_cast<std::int64_t>(num_tokens_), params_);
    const auto* given = static_cast<const std::byte*>(inputs.expert_output);
    const bool zero_copy = given == combine_rows();
    const auto row_bytes = static_cast<std::uint64_t>(inputs.hidden_size) * itemsize(inputs.dtype);
    const auto given_bytes = static_cast<std::uint64_t>(ep_size_) * tokens_per_rank_ * row_bytes;
    if (!zero_copy && overlaps(given, given_bytes, (*workspace_)->data(), layout_.total_bytes)) {
      throw invalid_argument("expert_output lies in the workspace, must be combine_input_buffer() or memory of yours");
    }
    if (overlaps(output.data, num_tokens_ * row_bytes, (*workspace_)->data(), layout_.total_bytes)) {
      throw invalid_argument("output lies in the workspace, must be memory of yours");
    }
    if (overlaps(output.data, num_tokens_ * row_bytes, given, given_bytes)) {
      throw invalid_argument("output overlaps expert_output, must not: rows are summed while others are still read");
    }

    protocol::combine_params launch;
    launch.expert_output = given;
    const bool quantised = config_.low_precision_combine != low_precision::none;
    launch.outputs.add(given, static_cast<std::uint32_t>(quantised ? row_bytes / itemsize(inputs.dtype) : row_bytes),
                       0);
    launch.output = static_cast<std::byte*>(output.data);
    launch.type = inputs.dtype;
    launch.elements = static_cast<std::uint64_t>(inputs.hidden_size);
    launch.num_tokens = num_tokens_;
    launch.tokens_per_rank = tokens_per_rank_;
    launch.chunk_shift = shift_of(plan_.combine.chunk_tokens);
    launch.reduce_shift = shift_of(plan_.reduce_tokens);
    launch.senders = static_cast<std::uint32_t>(plan_.senders);
    launch.words = words_;
    protocol::set(launch.words, header_word::combine_hidden_size, static_cast<std::uint32_t>(inputs.hidden_size));
    protocol::set(launch.words, header_word::chunk_tokens, declared_chunk(plan_.combine));
    protocol::set(launch.words, header_word::combine_dtype, static_cast<std::uint32_t>(inputs.dtype));
    launch.words_digest = protocol::digest_of(launch.words);

    workspace.launch(launch, plan_.combine, stream);
    workspace_->has_called(instance_);
    workspace_->end_step();
  }

  void set_active_ranks(const rank_set& mask, stream_ref stream) {
    const auto inside = enter("set_active_ranks", stream);
    if (!config_.enable_rank_mask) throw unsupported("set_active_ranks: enable_rank_mask is false, must be true");
    check_rank_mask(mask, rank_, ep_size_);
    (*workspace_)->set_active_ranks(mask, stream);
    workspace_->has_called(instance_);
  }

  // status, abort and destroy may meet on different threads: each takes its own hold of the workspace.
  [[nodiscard]] std::optional<recorded_fault> status() const {
    const auto workspace = held_workspace();
    return workspace ? (*workspace)->fault() : std::nullopt;
  }

  void abort(std::string_view reason) { workspace_for("abort")->abort(reason); }

  void recover(comm_backend& backend, const rank_set& active_ranks) {
    const auto workspace = workspace_for("recover");
    const recovery_terms terms{active_ranks, rank_, ep_size_, config_.enable_rank_mask};
    check_active_ranks(terms);
    workspace->begin_to_recover();
    try {
      recover_workspace(**workspace, backend, terms, effective_warmup(config_), [&] { workspace->await_calls(); });
    } catch (...) {
      workspace->end_change(workspace_life::usable);
      throw;
    }
    workspace->end_step();
    workspace->forget_abort();
    workspace->end_change(workspace_life::usable);
  }

  void checkpoint_prepare() { prepare_checkpoint(*workspace_for("checkpoint_prepare"), effective_warmup(config_)); }

  void checkpoint_restore(std::shared_ptr<comm_backend> backend) {
    restore_checkpoint(workspace_for("checkpoint_restore"), std::move(backend), effective_warmup(config_));
  }

  void destroy() noexcept {
    std::shared_ptr<shared_workspace> last;
    {
      const std::lock_guard lock(mutex_);
      last = std::move(workspace_);
    }
    if (!last) return;
    (*last)->drain();  // whatever its life: what runs touches the caller's memory, too
    last->let_go_of(instance_);
    workspace_registry::of_process().leave(last);
  }

  [[nodiscard]] support lamport_enabled() const { return lamport_support(config_); }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ep_size() const noexcept { return ep_size_; }
  [[nodiscard]] const comm_params& params() const noexcept { return params_; }
  [[nodiscard]] std::byte* workspace_data() const noexcept { return workspace_ ? (*workspace_)->data() : nullptr; }

 private:
  /// How rows lie under flags is for all ranks to agree on; Lamport rows have none.
  [[nodiscard]] std::uint32_t declared_chunk(const phase_plan& plan) const {
    return transport_ == transport::lamport ? 0 : static_cast<std::uint32_t>(plan.chunk_tokens);
  }

  void check_alive() const {
    if (!workspace_) throw state_error("the instance has been destroyed");
  }

  /// To be held while a call enqueues.
  [[nodiscard]] std::unique_lock<std::mutex> enter(std::string_view call, stream_ref stream) {
    check_alive();
    if (stream.kind() != workspace_->fabric().stream_kind()) {
      throw invalid_argument("stream is of another fabric, must be of the one that the instance was made for");
    }
    auto inside = workspace_->enter(call);
    workspace_->require_sound();
    return inside;
  }

  [[nodiscard]] std::shared_ptr<shared_workspace> held_workspace() const {
    const std::lock_guard lock(mutex_);
    return workspace_;
  }
  [[nodiscard]] std::shared_ptr<shared_workspace> workspace_for(std::string_view call) const {
    auto workspace = held_workspace();
    if (!workspace) throw state_error(std::string(call) + ": the instance has been destroyed");
    return workspace;
  }

  [[nodiscard]] const layout::rank_mask_words& mask_words() const {
    return *reinterpret_cast<const layout::rank_mask_words*>((*workspace_)->data() +
                                                             layout_.offset_of(region::rank_mask));
  }

  [[nodiscard]] std::byte* combine_rows() const {
    return (*workspace_)->data() + layout_.offset_of(region::combine_rows);
  }

  comm_params params_;
  one_sided_config config_;
  int rank_;
  int ep_size_;
  layout::workspace_layout layout_;
  std::shared_ptr<shared_workspace> workspace_;
  std::uint32_t instance_ = 0;  ///< its number among those that share the workspace

  std::uint64_t tokens_per_rank_ = 0;  // of the step in flight, and so on
  std::uint64_t num_tokens_ = 0;
  transport transport_ = transport::fence;
  launch_plan plan_;
  protocol::step_words words_{};

  mutable std::mutex mutex_;  // of workspace_ (the pointer)
};

namespace {

/// Runs a collective call; a local error of it also says what it means for the peers.
template <class Call>
auto telling_peers_wait(int ep_size, Call call) {
  const std::string consequence = ep_size > 1 ? "; peers wait for this rank until abort() or their deadline" : "";
  try {
    return call();
  } catch (const invalid_argument& e) {
    throw invalid_argument(e.what() + consequence);
  } catch (const state_error& e) {
    throw state_error(e.what() + consequence);
  }
}

}  // namespace

support one_sided_all_to_all::platform_support(fabric_kind kind, int device) {
  const auto chosen = built_in_fabric(kind);
  return chosen ? chosen->available(device) : support{false, "unknown fabric"};
}

one_sided_all_to_all::one_sided_all_to_all(const bootstrap& boot, const comm_params& params,
                                           const one_sided_config& config)
    : impl_(std::make_unique<impl>(boot, params, config)) {}
one_sided_all_to_all::~one_sided_all_to_all() = default;

dispatch_result one_sided_all_to_all::dispatch(const dispatch_inputs& inputs, const dispatch_options& options,
                                               stream_ref stream) {
  return telling_peers_wait(impl_->ep_size(), [&] { return impl_->dispatch(inputs, options, stream); });
}
rows_view one_sided_all_to_all::combine_input_buffer(dtype type) { return impl_->combine_input_buffer(type); }
void one_sided_all_to_all::combine(const combine_inputs& inputs, const combine_output& output, stream_ref stream) {
  telling_peers_wait(impl_->ep_size(), [&] { impl_->combine(inputs, output, stream); });
}
void one_sided_all_to_all::set_active_ranks(const rank_set& mask, stream_ref stream) {
  impl_->set_active_ranks(mask, stream);
}
rank_set one_sided_all_to_all::active_rank_mask(std::span<const int> ranks) const {
  return mask_of_ranks(ranks, impl_->ep_size());
}
std::optional<recorded_fault> one_sided_all_to_all::status() const { return impl_->status(); }
void one_sided_all_to_all::abort(std::string_view reason) { impl_->abort(reason); }
void one_sided_all_to_all::recover(comm_backend& backend, const rank_set& active_ranks) {
  impl_->recover(backend, active_ranks);
}
void one_sided_all_to_all::checkpoint_prepare() { impl_->checkpoint_prepare(); }
void one_sided_all_to_all::checkpoint_restore(std::shared_ptr<comm_backend> backend) {
  impl_->checkpoint_restore(std::move(backend));
}
void one_sided_all_to_all::destroy() noexcept { impl_->destroy(); }
support one_sided_all_to_all::lamport_enabled() const { return impl_->lamport_enabled(); }
int one_sided_all_to_all::rank() const noexcept { return impl_->rank(); }
int one_sided_all_to_all::ep_size() const noexcept { return impl_->ep_size(); }
const comm_params& one_sided_all_to_all::params() const noexcept { return impl_->params(); }
std::byte* one_sided_all_to_all::workspace_data() const noexcept { return impl_->workspace_data(); }

}  // namespace switchyard
