// SPDX-License-Identifier: Apache-2.0
#include <cfenv>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "switchyard/spec/errors.hpp"
#include "switchyard/stream.hpp"

namespace switchyard {
namespace {

constexpr int max_workers = 256;

struct launch_item {
  std::function<void(int)> body;
  int num_blocks = 1;
  int next_block = 0;
  int blocks_left = 1;
};

}  // namespace

struct host_stream::state {
  std::mutex mutex;
  std::condition_variable work;  ///< a block may be taken, or the stream is closing
  std::condition_variable idle;  ///< an item has ended
  std::deque<launch_item> queue;
  std::uint64_t num_queued = 0;  ///< items ever
  std::uint64_t num_ended = 0;
  bool closing = false;
  std::vector<std::thread> workers;

  void run() {
    // Sums are defined for the default environment; a thread inherits that of its creator, which may flush subnormals.
    std::fesetenv(FE_DFL_ENV);
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [this] { return closing ? queue.empty() || can_take() : can_take(); });
      if (queue.empty()) return;
      auto& item = queue.front();
      const int block = item.next_block++;
      lock.unlock();
      item.body(block);  // the front stays in place until its last block has ended; deque references are stable
      lock.lock();
      if (--item.blocks_left != 0) continue;
      auto finished = std::move(queue.front().body);
      queue.pop_front();
      lock.unlock();
      finished = nullptr;  // what the body owns may be heavy, or call back
      lock.lock();
      ++num_ended;
      work.notify_all();
      idle.notify_all();
    }
  }

  void close() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    work.notify_all();
    for (auto& worker : workers) worker.join();
  }

  [[nodiscard]] bool can_take() const { return !queue.empty() && queue.front().next_block < queue.front().num_blocks; }
};

host_stream::host_stream(int num_workers) : state_(std::make_unique<state>()) {
  if (num_workers < 1 || num_workers > max_workers) {
    throw invalid_argument("host_stream: num_workers is " + std::to_string(num_workers) + ", must be 1 .. " +
                           std::to_string(max_workers));
  }
  state_->workers.reserve(static_cast<std::size_t>(num_workers));
  try {
    for (int i = 0; i < num_workers; ++i) state_->workers.emplace_back([s = state_.get()] { s->run(); });
  } catch (const std::system_error& failure) {
    const auto started = state_->workers.size();
    state_->close();
    throw out_of_memory("host_stream: only " + std::to_string(started) + " of " + std::to_string(num_workers) +
                        " threads could be started: " + failure.what());
  }
}

host_stream::~host_stream() { state_->close(); }

int host_stream::num_workers() const noexcept { return static_cast<int>(state_->workers.size()); }

void host_stream::enqueue(std::function<void()> task) {
  launch(1, [task = std::move(task)](int) { task(); });
}

void host_stream::launch(int num_blocks, std::function<void(int)> body) {
  if (num_blocks < 1) {
    throw invalid_argument("host_stream: num_blocks is " + std::to_string(num_blocks) + ", must be at least 1");
  }
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->closing) throw state_error("host_stream: launch on a stream that is being destroyed");
    state_->queue.push_back({std::move(body), num_blocks, 0, num_blocks});
    ++state_->num_queued;
  }
  state_->work.notify_all();
}

void host_stream::synchronize() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this, target = state_->num_queued] { return state_->num_ended >= target; });
}

}  // namespace switchyard
