// SPDX-License-Identifier: Apache-2.0
// A step in a workspace of its own: made beside that of the layers, destroyed behind the step, and nothing of it left.
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "rank_runner.hpp"
#include "switchyard/harness/case_layers.hpp"

namespace switchyard::harness {
namespace {

// Pools and kernels settle: only then what the machine has left is the measure of what comes later.
constexpr int times_to_settle = 3;
// A piece of device memory, the least by which it is mapped: what is leaked each time is more after a few times.
constexpr std::size_t free_memory_slack = std::size_t{2} << 20;

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

bool rank_runner::go_beside() {
  device_->synchronize();
  if (faulted_) return false;
  auto boot = make_bootstrap();
  boot.host_memory = nullptr;  // the arena takes nothing back
  rank_workspace made;
  make_workspace(boot, side_params_of(spec_), made);
  if (made.data == here_.data) throw std::runtime_error("a workspace of another shape is that of the layers");
  say_live(made.exchange.get());
  layers_workspace_ = std::exchange(here_, std::move(made));
  fill_guards();
  meet();  // no peer may store before the guards are filled
  return true;
}

bool rank_runner::come_back() {
  device_->synchronize();
  if (faulted_ || !outcome_.error.empty()) return false;
  meet();  // then all writing has ended
  check_guards();
  const auto* place = here_.data;
  say_live(layers_workspace_.exchange.get());
  here_ = std::exchange(layers_workspace_, {});
  // To free memory may wait for all that runs on the device: nobody goes on before all have done it, nor while one
  // still looks.
  meet();
  const bool has_memory = device_->has_memory(place);
  // One rank for all: to count descriptors takes one.
  const held_resources held{rank_ == 0 ? open_descriptors() : 0, device_->free_memory()};
  meet();
  if (has_memory) throw std::runtime_error("a workspace that was destroyed has left memory behind");
  if (++times_beside_ <= times_to_settle) {
    held_at_first_ = held;
    return true;
  }
  const auto refuse = [&](const char* what, std::size_t now, std::size_t before) {
    throw std::runtime_error(std::string(what) + ": " + std::to_string(now) + " behind workspace " +
                             std::to_string(times_beside_) + " that was destroyed, " + std::to_string(before) +
                             " behind the first ones");
  };
  if (held.descriptors > held_at_first_.descriptors) {
    refuse("open descriptors", held.descriptors, held_at_first_.descriptors);
  }
  if (held.free_memory && *held.free_memory + free_memory_slack < *held_at_first_.free_memory) {
    refuse("free bytes of the device", *held.free_memory, *held_at_first_.free_memory);
  }
  return true;
}

}  // namespace switchyard::harness
