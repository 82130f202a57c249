// SPDX-License-Identifier: Apache-2.0
// Steps as graphs: each shape is captured once, before any peer can wait, and replayed with new inputs in place.
#include "rank_runner.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/declared_step.hpp"

namespace switchyard::harness {
namespace {

launch_mode launch_of(const case_spec& spec, int step) {
  if (spec.launch != launch_mode::mixed) return spec.launch;
  constexpr std::array turns{launch_mode::graph, launch_mode::eager, launch_mode::two_graphs};
  return turns.at(static_cast<std::size_t>(step) % turns.size());
}

}  // namespace

std::optional<rank_runner::replay_shape> rank_runner::replay_shape_of(int step) const {
  const auto launch = launch_of(spec_, step);
  if (launch == launch_mode::eager || is_beside(spec_, step)) return std::nullopt;
  const auto plan = make_step_plan(spec_, state_.options.seed, step);
  return replay_shape{plan.tokens_per_rank_of(rank_),
                      plan.num_tokens[static_cast<std::size_t>(rank_)],
                      plan.topk_weights,
                      plan.extra,
                      plan.eplb_stats_length_of(rank_),
                      plan.combine_hidden_size,
                      declared_by(spec_, plan, rank_).layer,
                      params_of_step(spec_, step).dispatch_format,
                      plan.source,
                      launch == launch_mode::two_graphs,
                      injected_at(step, phase::dispatch) != nullptr || injected_at(step, phase::combine) != nullptr
                          ? std::optional(step)
                          : std::nullopt};
}

void rank_runner::capture_steps() {
  for (int step = 0; step < spec_.steps; ++step) {
    if (ends_at(step, phase::dispatch)) {
      if (!spec_.recovers) break;
      continue;
    }
    const auto shape = replay_shape_of(step);
    if (!shape) continue;
    if (!captured_.contains(*shape)) captured_.emplace(*shape, capture(step, *shape));
    if (ends_at(step, phase::combine) && !spec_.recovers) break;
  }
  device_->synchronize();
}

rank_runner::captured_step rank_runner::capture(int step, const replay_shape& shape) {
  auto& replaying = *device_->replaying();
  const auto declared = declared_by(spec_, make_step_plan(spec_, state_.options.seed, step), rank_);
  const auto argument = [&](payload_kind kind) {
    const auto index = static_cast<std::size_t>(kind);
    const auto row_bytes = declared.row_bytes.at(index);
    if (row_bytes == 0) return payload{};
    const auto* data = device_->address_of(index, {});
    return payload{shape.num_tokens > 0 ? data : nullptr, row_bytes, true};
  };
  dispatch_inputs given;
  given.num_tokens = shape.num_tokens;
  given.hidden_states = argument(payload_kind::hidden_states);
  given.topk_ids = argument(payload_kind::topk_ids);
  given.topk_weights = argument(payload_kind::topk_weights);
  given.hidden_states_scale = argument(payload_kind::hidden_states_scale);
  given.extra = argument(payload_kind::extra);

  auto& exchange = layer(shape.layer);
  captured_step made;
  between_phases between;
  const auto dispatch = [&] {
    const auto options = options_for(declared, {});
    call_phase(step, phase::dispatch, [&] { made.views = exchange.dispatch(given, options, device_->stream()); });
  };
  const auto combine = [&] {
    auto* output = shape.num_tokens > 0 ? device_->address_of(output_buffer, {}) : nullptr;
    call_phase(step, phase::combine, [&] {
      exchange.combine({between.expert_rows, declared.combine_hidden_size, declared.combine_dtype},
                       {output, shape.num_tokens}, device_->stream());
    });
  };
  const auto rest = [&] {
    between.params = params_of_step(spec_, step);
    between.views = made.views;
    between.combine_hidden_size = shape.combine_hidden_size;
    between.expert_rows = shape.source == combine_source::workspace_rows
                              ? exchange.combine_input_buffer(declared.combine_dtype).data
                              : device_->address_of(expert_output_buffer, {});
    replaying.enqueue(between);
    if (!ends_at(step, phase::combine)) combine();
  };
  if (shape.two_graphs) {
    made.graphs.push_back(replaying.capture(dispatch));
    made.graphs.push_back(replaying.capture(rest));
  } else {
    made.graphs.push_back(replaying.capture([&] {
      dispatch();
      rest();
    }));
  }
  // Never replayed: without it the library would refuse the dispatch of the next step.
  if (ends_at(step, phase::combine)) (void)replaying.capture(combine);
  const auto rows = static_cast<std::size_t>(spec_.ep_size) * static_cast<std::size_t>(shape.tokens_per_rank);
  made.expert_rows = {between.expert_rows,
                      rows * static_cast<std::size_t>(shape.combine_hidden_size) * itemsize(spec_.params.dtype)};
  poison_all(made, shape.source);
  return made;
}

// Legal only before the first step, or the first after recover(): no peer stores yet.
void rank_runner::poison_all(const captured_step& step, combine_source source) {
  for (const auto kind : all_payloads) {
    const auto& view = view_of(step.views, kind);
    bool& prepared = here_.view_prepared.at(static_cast<std::size_t>(kind));
    if (view.data == nullptr || prepared) continue;
    device_->fill(view.data, std::to_integer<int>(poison_byte(-1)), bytes_to_end_of_region(view.data));
    prepared = true;
  }
  if (const auto statistics = step.views.eplb_gathered_stats; !statistics.empty()) {
    auto* first = reinterpret_cast<std::byte*>(const_cast<std::int32_t*>(statistics.data()));
    device_->fill(first, std::to_integer<int>(poison_byte(-1)), statistics.size_bytes());
  }
  auto& area = expert_area(source);
  if (!area.prepared && source == combine_source::workspace_rows) {
    device_->fill(step.expert_rows.first, expert_poison, bytes_to_end_of_region(step.expert_rows.first));
  }
  area.prepared = true;
}

bool rank_runner::run_step(int step) {
  const auto shape = replay_shape_of(step);
  if (!shape) return enqueue_step(step);
  if (faulted_) return false;
  if (ends_at(step, phase::dispatch)) {
    end_as_injected(*spec_.inject);
    return false;
  }
  const step_inputs* inputs = state_.ring.acquire(step);
  if (inputs == nullptr) return false;
  const auto& captured = captured_.at(*shape);
  note_transport(captured.views.transport);

  (void)arguments(*inputs);  // the graph has the addresses already; this brings what lies there
  enqueue([this, inputs, length = delay_before(step, phase::combine)] {
    poison_output(*inputs);
    device_->replaying()->set_step(poison_byte(inputs->step()), length);
  });
  enqueue_delay(step, phase::dispatch);
  enqueue_start(step, phase::dispatch);
  for (const auto graph : captured.graphs) device_->replaying()->replay(graph);
  // For an eager step that follows: these rows are not poison any more.
  expert_area(shape->source).used = {captured.expert_rows};
  enqueue([this, inputs, &captured] { end_of_replay(*inputs, captured.views); });
  if (!ends_at(step, phase::combine)) return true;
  end_as_injected(*spec_.inject);
  return false;
}

void rank_runner::end_of_replay(const step_inputs& inputs, const dispatch_result& views) {
  const int step = inputs.step();
  const auto kept = device_->replaying()->kept(views);
  readable_views_ = device_->readable(kept);
  const auto record = here_.exchange->status();
  if (skips(step, phase::dispatch)) {
    // Nothing was received.
  } else if (!record || record->phase == phase::combine) {
    check_received(inputs, kept);
  } else if (phase_itself_faulted(*record)) {
    verifier_.check_faulted_dispatch(inputs, readable_views_, outcome_.log);
  }
  if (skips(step, phase::combine)) return state_.ring.finish(rank_, step);
  if (!ends_at(step, phase::combine)) end_of_combine(inputs);
}

}  // namespace switchyard::harness
