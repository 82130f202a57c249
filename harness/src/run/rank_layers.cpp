// SPDX-License-Identifier: Apache-2.0
// A rank's instances: made together, used in turn, destroyed one after another, and without memory for a moment.
#include <stdexcept>
#include <string>

#include "rank_runner.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {

void rank_runner::make_workspace(const bootstrap& boot, const comm_params& params, rank_workspace& into) {
  into.exchange = std::make_unique<one_sided_all_to_all>(boot, params, state_.config);
  into.data = into.exchange->workspace_data();
  into.bytes = workspace_bytes(params, state_.config, spec_.ep_size);
  into.regions = workspace_regions(params, state_.config, spec_.ep_size);
}

void rank_runner::make_layers(const bootstrap& boot) {
  const auto params = workspace_params_of(spec_);
  make_workspace(boot, params, here_);
  while (static_cast<int>(here_.further_layers.size()) + 1 < spec_.layers) {
    here_.further_layers.push_back(std::make_unique<one_sided_all_to_all>(boot, params, state_.config));
    if (here_.further_layers.back()->workspace_data() == here_.data) continue;
    throw std::runtime_error("layer " + std::to_string(here_.further_layers.size()) + " has a workspace of its own");
  }
}

one_sided_all_to_all& rank_runner::layer(int number) {
  return number == 0 || is_beside_layers() ? *here_.exchange
                                           : *here_.further_layers.at(static_cast<std::size_t>(number) - 1);
}

bool rank_runner::come_to(int step) {
  while (static_cast<int>(here_.further_layers.size()) + 1 > layers_left(spec_, step)) {
    here_.further_layers.back()->destroy();
    here_.further_layers.back()->destroy();
    here_.further_layers.pop_back();
  }
  return !is_checkpoint(spec_, step) || checkpoint(step);
}

bool rank_runner::checkpoint(int step) {
  device_->synchronize();
  if (faulted_) return false;
  check_guards();  // the workspace gets other memory
  if (!device_->has_memory(here_.data)) throw std::runtime_error("the workspace has no memory before a checkpoint");
  layer(layer_of(spec_, step)).checkpoint_prepare();
  expect_no_use();
  // A control channel of its own for each life, as a process that was restored has.
  const auto backend = state_.group->backend_before(step, rank_);
  here_.exchange->checkpoint_restore(backend);
  if (here_.exchange->workspace_data() != here_.data) throw std::runtime_error("the workspace has another address");
  // The connections of the new one come on top of those that this process keeps for later cases.
  if (state_.group->of_processes()) times_beside_ = 0;
  fill_guards();
  forget_views();
  device_->synchronize();
  // No peer may store before the guards are filled and the views poisoned.
  backend->barrier(state_.config.warmup_timeout);
  return true;
}

void rank_runner::expect_no_use() {
  if (device_->has_memory(here_.data)) throw std::runtime_error("checkpoint_prepare() has left memory behind");
  try {
    here_.exchange->abort("a workspace without memory takes no abort");
  } catch (const state_error&) {
    return;
  }
  throw std::runtime_error("the workspace may be used while it has no memory");
}

void rank_runner::forget_views() {
  here_.view_prepared = {};
  here_.expert_rows = {};
  private_expert_rows_ = {};
  for (const auto& [shape, step] : captured_) {
    if (!is_left_out()) poison_all(step, shape.source);
  }
}

}  // namespace switchyard::harness
