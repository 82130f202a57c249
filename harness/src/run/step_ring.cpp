// SPDX-License-Identifier: Apache-2.0
// Who makes inputs and who waits for a slot.
#include "step_ring.hpp"

#include <algorithm>
#include <limits>

namespace switchyard::harness {

int step_ring::depth_of(const case_spec& spec) noexcept { return std::clamp(spec.steps, 1, most_depth); }

std::size_t step_ring::footprint(const case_spec& spec) {
  return static_cast<std::size_t>(depth_of(spec)) * step_inputs::footprint(spec);
}

step_ring::step_ring(const case_spec& spec, std::uint64_t seed, std::pmr::memory_resource& memory)
    : seed_(seed),
      finished_(static_cast<std::size_t>(spec.ep_size), 0),
      traffic_(static_cast<std::size_t>(spec.steps)) {
  for (int i = 0; i < depth_of(spec); ++i) slots_.emplace_back(spec, memory);
}

int step_ring::finished_by_all() const { return *std::ranges::min_element(finished_); }

const step_inputs* step_ring::acquire(int step) {
  const auto depth = static_cast<int>(slots_.size());
  auto& mine = slots_[static_cast<std::size_t>(step % depth)];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || mine.step == step || finished_by_all() > step - depth; });
  if (stopped_) return nullptr;
  if (mine.step != step && !mine.in_the_making) make(mine, step, lock);
  changed_.wait(lock, [&] { return stopped_ || mine.step == step; });
  return stopped_ ? nullptr : &mine.inputs;
}

void step_ring::make(slot& where, int step, std::unique_lock<std::mutex>& lock) {
  where.in_the_making = true;
  lock.unlock();
  try {
    where.inputs.generate(seed_, step);
  } catch (...) {
    lock.lock();
    stopped_ = true;  // the others would wait for inputs that will not come
    changed_.notify_all();
    throw;
  }
  lock.lock();
  auto& sum = traffic_[static_cast<std::size_t>(step)];
  sum.returned_bytes = where.inputs.returned_bytes();
  for (const auto& of_rank : where.inputs.traffic()) {
    sum.remote_bytes += of_rank.remote_send_bytes;
    sum.max_rank_bytes = std::max({sum.max_rank_bytes, of_rank.remote_send_bytes, of_rank.remote_recv_bytes});
  }
  where.in_the_making = false;
  where.step = step;
  changed_.notify_all();
}

void step_ring::finish(int rank, int step) {
  const std::lock_guard lock(mutex_);
  auto& finished = finished_[static_cast<std::size_t>(rank)];
  finished = std::max(finished, step + 1);
  changed_.notify_all();
}

void step_ring::leave(int rank) {
  const std::lock_guard lock(mutex_);
  finished_[static_cast<std::size_t>(rank)] = std::numeric_limits<int>::max();
  changed_.notify_all();
}

void step_ring::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace switchyard::harness
