// SPDX-License-Identifier: Apache-2.0
// A rank's instances: made together, used in turn, destroyed one after another, and without memory for a moment.
#include <stdexcept>
#include <string>

#include "rank_runner.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {

void rank_runner::make_layers(const bootstrap& boot) {
  const auto params = workspace_params_of(spec_);
  exchange_ = std::make_unique<one_sided_all_to_all>(boot, params, state_.config);
  workspace_ = exchange_->workspace_data();
  while (static_cast<int>(further_layers_.size()) + 1 < spec_.layers) {
    further_layers_.push_back(std::make_unique<one_sided_all_to_all>(boot, params, state_.config));
    if (further_layers_.back()->workspace_data() == workspace_) continue;
    throw std::runtime_error("layer " + std::to_string(further_layers_.size()) + " has a workspace of its own");
  }
}

one_sided_all_to_all& rank_runner::layer(int number) {
  return number == 0 ? *exchange_ : *further_layers_.at(static_cast<std::size_t>(number) - 1);
}

bool rank_runner::come_to(int step) {
  while (static_cast<int>(further_layers_.size()) + 1 > layers_left(spec_, step)) {
    further_layers_.back()->destroy();
    further_layers_.back()->destroy();
    further_layers_.pop_back();
  }
  return !is_checkpoint(spec_, step) || checkpoint(step);
}

bool rank_runner::checkpoint(int step) {
  device_->synchronize();
  if (faulted_) return false;
  check_guards();  // the workspace gets other memory
  if (!device_->has_memory(workspace_)) throw std::runtime_error("the workspace has no memory before a checkpoint");
  layer(layer_of(spec_, step)).checkpoint_prepare();
  expect_no_use();
  // A control channel of its own for each life, as a process that was restored has.
  const auto backend = state_.group->backend_before(step, rank_);
  exchange_->checkpoint_restore(backend);
  if (exchange_->workspace_data() != workspace_) throw std::runtime_error("the workspace has another address");
  fill_guards();
  forget_views();
  device_->synchronize();
  // No peer may store before the guards are filled and the views poisoned.
  backend->barrier(state_.config.warmup_timeout);
  return true;
}

void rank_runner::expect_no_use() {
  if (device_->has_memory(workspace_)) throw std::runtime_error("checkpoint_prepare() has left memory behind");
  try {
    exchange_->abort("a workspace without memory takes no abort");
  } catch (const state_error&) {
    return;
  }
  throw std::runtime_error("the workspace may be used while it has no memory");
}

void rank_runner::forget_views() {
  view_prepared_ = {};
  expert_areas_ = {};
  for (const auto& [shape, step] : captured_) {
    if (!is_left_out()) poison_all(step, shape.source);
  }
}

}  // namespace switchyard::harness
