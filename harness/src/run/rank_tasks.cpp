// SPDX-License-Identifier: Apache-2.0
// What a rank's stream does between the phases: check, compute, poison.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "rank_runner.hpp"
#include "switchyard/harness/declared_step.hpp"
#include "switchyard/reference/simulated_expert.hpp"

namespace switchyard::harness {
namespace {

// Calls visit(first_row, num_rows) for each run of rows that hold tokens.
template <typename Visit>
void for_each_occupied(const step_inputs& inputs, int rank, Visit visit) {
  const auto& tokens = inputs.golden(rank).source_tokens;
  const auto holds_none = [](std::int64_t token) { return token < 0; };
  for (auto first = std::find_if_not(tokens.begin(), tokens.end(), holds_none); first != tokens.end();) {
    const auto last = std::find_if(first, tokens.end(), holds_none);
    visit(static_cast<std::size_t>(first - tokens.begin()), static_cast<std::size_t>(last - first));
    first = std::find_if_not(last, tokens.end(), holds_none);
  }
}

// In the order of all_payloads.
constexpr std::array<payload dispatch_inputs::*, all_payloads.size()> input_payloads{
    &dispatch_inputs::hidden_states, &dispatch_inputs::topk_ids, &dispatch_inputs::topk_weights,
    &dispatch_inputs::hidden_states_scale, &dispatch_inputs::extra};

}  // namespace

dispatch_inputs rank_runner::arguments(const step_inputs& inputs) {
  auto result = inputs.arguments(rank_);
  const auto declared = declared_by(spec_, inputs.plan(), rank_);
  for (std::size_t i = 0; i < all_payloads.size(); ++i) {
    auto& given = result.*input_payloads.at(i);
    const auto& buffer = inputs.buffer(all_payloads.at(i), rank_);
    if (given.data != nullptr) given.data = device_->address_of(i, buffer);
    if (given.row_bytes == declared.row_bytes.at(i)) continue;
    given.row_bytes = declared.row_bytes.at(i);
    if (given.row_bytes == 0) given = {};
  }
  enqueue([this, &inputs] {
    for (std::size_t i = 0; i < all_payloads.size(); ++i) device_->upload(i, inputs.buffer(all_payloads.at(i), rank_));
    device_->upload(statistics_buffer, inputs.statistics(rank_));
  });
  return result;
}

dispatch_options rank_runner::options_for(const declared_step& declared, const fenced_buffer& statistics) {
  dispatch_options options{declared.tokens_per_rank};
  if (declared.eplb_stats_length == 0) return options;
  const auto* data = reinterpret_cast<const std::int32_t*>(device_->address_of(statistics_buffer, statistics));
  options.eplb_local_stats = {data, static_cast<std::size_t>(declared.eplb_stats_length)};
  return options;
}

void rank_runner::end_of_dispatch(const step_inputs& inputs, const dispatch_result& views) {
  outcome_.times[static_cast<std::size_t>(inputs.step())].dispatch_ns = nanoseconds_since_start();
  if (faulted_) return;
  readable_views_ = device_->readable(views);
  if (const auto record = here_.exchange->status()) {
    faulted_ = true;
    if (phase_itself_faulted(*record)) verifier_.check_faulted_dispatch(inputs, readable_views_, outcome_.log);
    return;
  }
  check_received(inputs, views);
}

// Two checkers that know nothing of each other; where they disagree, one of them cannot be trusted.
void rank_runner::check_received(const step_inputs& inputs, const dispatch_result& views) {
  const auto due = inputs.plan().transport;
  const auto order = due == transport::lamport ? row_order::positional : row_order::packed;
  if (views.transport != due || views.order != order || views.transport_reason.empty()) {
    throw std::runtime_error("step " + std::to_string(inputs.step()) + " went by " +
                             std::string(to_string(views.transport)) + " (" + std::string(views.transport_reason) +
                             "), must go by " + std::string(to_string(due)));
  }
  const auto on_device = device_->check_rows(inputs, state_.options.seed, rank_, views);
  verifier_.check_dispatch(inputs, readable_views_, outcome_.log);
  const auto& here = verifier_.rows_of_last_dispatch();
  for (const auto kind : all_payloads) {
    const auto& there = on_device.at(static_cast<std::size_t>(kind));
    const auto& mine = here.at(static_cast<std::size_t>(kind));
    if (!there || *there == mine) continue;
    throw std::runtime_error("the checkers disagree on " + std::string(to_string(kind)) + " in step " +
                             std::to_string(inputs.step()) + ": the device's found " + std::to_string(there->wrong) +
                             " wrong rows, the first " + std::to_string(there->first) + ", the CPU's " +
                             std::to_string(mine.wrong) + ", the first " + std::to_string(mine.first));
  }
}

void rank_runner::compute_experts(const step_inputs& inputs, const dispatch_result& views, std::byte* rows) {
  const auto& params = inputs.params();
  const std::size_t full_bytes = static_cast<std::size_t>(params.hidden_size) * itemsize(params.dtype);
  const std::size_t row_bytes = static_cast<std::size_t>(inputs.plan().combine_hidden_size) * itemsize(params.dtype);
  auto& area = expert_area(inputs.plan().source);
  if (!area.prepared && inputs.plan().source == combine_source::workspace_rows) {
    device_->fill(rows, expert_poison, bytes_to_end_of_region(rows));
  }
  area.prepared = true;
  for (const auto& [data, bytes] : area.used) device_->fill(data, expert_poison, bytes);
  area.used.clear();

  const auto as_sent = [&](payload_kind kind) {
    return view_of(views, kind).row_bytes == inputs.generator().row_bytes(kind);
  };
  if (!as_sent(payload_kind::topk_ids) || !as_sent(payload_kind::hidden_states) ||
      !as_sent(payload_kind::hidden_states_scale)) {
    throw std::runtime_error("the views of dispatch do not have the rows that were sent");
  }
  std::vector<std::byte> narrowed(row_bytes == full_bytes ? 0 : full_bytes);
  std::byte* draft = device_->draft_of(rows, state_.expert_outputs[static_cast<std::size_t>(rank_)].data());
  const auto top_k = static_cast<std::size_t>(params.top_k);
  for_each_occupied(inputs, rank_, [&](std::size_t first, std::size_t count) {
    area.used.emplace_back(rows + first * row_bytes, count * row_bytes);
    for (std::size_t row = first; row < first + count; ++row) {
      const auto* ids = reinterpret_cast<const std::int32_t*>(views.topk_ids.data + row * views.topk_ids.row_bytes);
      std::span<const float> weights;
      if (views.topk_weights.data != nullptr) {
        weights = {reinterpret_cast<const float*>(views.topk_weights.data + row * views.topk_weights.row_bytes), top_k};
      }
      const std::byte* hidden = views.hidden_states.data + row * views.hidden_states.row_bytes;
      const auto& scales = views.hidden_states_scale;
      const std::byte* scale_row = scales.data == nullptr ? nullptr : scales.data + row * scales.row_bytes;
      std::byte* out = draft + row * row_bytes;
      reference::simulated_expert_row(rank_, inputs.ep_size(), params, {ids, top_k}, weights, hidden, scale_row,
                                      narrowed.empty() ? out : narrowed.data(), spec_.experts);
      if (!narrowed.empty()) std::memcpy(out, narrowed.data(), row_bytes);
    }
    device_->write(rows + first * row_bytes, draft + first * row_bytes, count * row_bytes);
  });
}

// Legal between this rank's dispatch and its combine: peers store into the views only before the one ends and after the
// other has begun. So each row that the next dispatch owes is poison until it is stored.
void rank_runner::poison_views(const step_inputs& inputs, const dispatch_result& views) {
  const int poison = std::to_integer<int>(poison_byte(inputs.step()));
  if (const auto statistics = views.eplb_gathered_stats; !statistics.empty()) {
    auto* first = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(statistics.data()));
    device_->fill(first, poison, statistics.size_bytes());
  }
  for (const auto kind : all_payloads) {
    const rows_view& view = view_of(views, kind);
    if (view.data == nullptr) continue;
    bool& prepared = here_.view_prepared[static_cast<std::size_t>(kind)];
    if (!prepared) {
      device_->fill(view.data, poison, bytes_to_end_of_region(view.data));
      prepared = true;
    } else if (kind == payload_kind::topk_ids) {  // every row has been given ids
      const auto num_rows = static_cast<std::size_t>(inputs.ep_size() * inputs.plan().tokens_per_rank);
      device_->fill(view.data, poison, num_rows * view.row_bytes);
    } else {
      for_each_occupied(inputs, rank_, [&](std::size_t first, std::size_t count) {
        device_->fill(view.data + first * view.row_bytes, poison, count * view.row_bytes);
      });
    }
  }
}

void rank_runner::poison_output(const step_inputs& inputs) {
  const auto index = static_cast<std::size_t>(rank_);
  auto& output = state_.outputs[index];
  const auto count = static_cast<std::size_t>(inputs.plan().num_tokens[index]);
  output.resize(count * static_cast<std::size_t>(inputs.plan().combine_hidden_size_of(rank_)) *
                itemsize(spec_.params.dtype));
  if (output.bytes() > 0) {
    std::memset(output.data(), std::to_integer<int>(poison_byte(inputs.step())), output.bytes());
  }
  device_->upload(output_buffer, output);
}

void rank_runner::end_of_combine(const step_inputs& inputs) {
  auto& time = outcome_.times[static_cast<std::size_t>(inputs.step())];
  time.combine_ns = nanoseconds_since_start();
  const auto& output = state_.outputs[static_cast<std::size_t>(rank_)];
  device_->read(output.data(), device_->address_of(output_buffer, output), output.bytes());
  if (const auto record = here_.exchange->status()) {
    // A combine on a poisoned workspace owes NaN as much as the one that failed.
    if (phase_itself_faulted(*record)) verifier_.check_faulted_output(inputs, output.data(), outcome_.log);
    faulted_ = true;
  } else {
    verifier_.check_output(inputs, output.data(), outcome_.log);
    outcome_.steps_ended = inputs.step() + 1;
  }
  check_fences(inputs);
  state_.ring.finish(rank_, inputs.step());
}

void rank_runner::check_fences(const step_inputs& inputs) {
  const auto index = static_cast<std::size_t>(rank_);
  rank_device::all_buffers buffers{};
  for (std::size_t i = 0; i < all_payloads.size(); ++i) buffers.at(i) = &inputs.buffer(all_payloads.at(i), rank_);
  buffers.at(output_buffer) = &state_.outputs[index];
  buffers.at(expert_output_buffer) = &state_.expert_outputs[index];
  buffers.at(statistics_buffer) = &inputs.statistics(rank_);
  const auto damage = device_->damage(buffers);
  const auto check = [&](std::size_t which, const std::string& name) {
    verifier_.check_fence(inputs.step(), name, buffers.at(which)->bytes(), damage.at(which), outcome_.log);
  };
  for (std::size_t i = 0; i < all_payloads.size(); ++i) {
    check(i, std::string(to_string(all_payloads.at(i))) + " input");
  }
  check(output_buffer, "output");
  check(expert_output_buffer, "expert_output");
  check(statistics_buffer, "statistics input");
}

std::size_t rank_runner::bytes_to_end_of_region(const std::byte* data) const {
  const auto offset = static_cast<std::size_t>(data - here_.data);
  for (const auto& region : here_.regions) {
    if (offset >= region.offset && offset < region.offset + region.bytes) return region.offset + region.bytes - offset;
  }
  return 0;
}

}  // namespace switchyard::harness
