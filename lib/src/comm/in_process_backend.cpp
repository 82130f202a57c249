// SPDX-License-Identifier: Apache-2.0
// A rendezvous of threads: one board that every rank writes to and reads from, one generation per collective call.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

class meeting {
 public:
  explicit meeting(int size) : here_(static_cast<std::size_t>(size)), parts_(static_cast<std::size_t>(size)) {
    std::random_device entropy;
    for (auto& word : id_) word = (static_cast<std::uint64_t>(entropy()) << 32) | entropy();
  }

  [[nodiscard]] group_id id() const noexcept { return id_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(here_.size()); }

  void gather(int rank, std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    if (broken_) throw peer_fault(why_broken_, {});
    const auto generation = generation_;
    const auto index = static_cast<std::size_t>(rank);
    parts_[index].assign(mine.begin(), mine.end());
    here_[index] = true;
    if (std::all_of(here_.begin(), here_.end(), [](bool came) { return came; })) {
      finish_generation();
    } else if (!done_.wait_for(lock, timeout, [&] { return generation_ != generation || broken_; })) {
      break_up(timeout);
    }
    if (generation_ == generation) throw peer_fault(why_broken_, {});
    // The next generation cannot complete, and so cannot replace the result, before this rank has come to it.
    if (!sizes_agree_)
      throw invalid_argument("comm backend: rank " + std::to_string(rank) + " gathers " + std::to_string(mine.size()) +
                             " bytes, must be as many as every other rank");
    if (!result_.empty()) std::memcpy(all.data(), result_.data(), result_.size());
  }

 private:
  void finish_generation() {
    sizes_agree_ =
        std::all_of(parts_.begin(), parts_.end(), [&](const auto& p) { return p.size() == parts_[0].size(); });
    result_.clear();
    for (const auto& part : parts_) result_.insert(result_.end(), part.begin(), part.end());
    std::fill(here_.begin(), here_.end(), false);
    ++generation_;
    done_.notify_all();
  }

  void break_up(std::chrono::nanoseconds timeout) {
    std::string absent;
    for (std::size_t rank = 0; rank < here_.size(); ++rank) {
      if (!here_[rank]) absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
    }
    why_broken_ = "comm backend: rank(s) " + absent + " did not come within " +
                  std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()) + " ms";
    broken_ = true;
    done_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<bool> here_;
  std::vector<std::vector<std::byte>> parts_;
  std::vector<std::byte> result_;
  bool sizes_agree_ = true;
  std::uint64_t generation_ = 0;
  bool broken_ = false;
  std::string why_broken_;
  group_id id_{};
};

class in_process_backend final : public comm_backend {
 public:
  in_process_backend(std::shared_ptr<meeting> where, int rank) : meeting_(std::move(where)), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return meeting_->size(); }
  [[nodiscard]] switchyard::group_id group_id() const noexcept override { return meeting_->id(); }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) override {
    if (all.size() != mine.size() * static_cast<std::size_t>(size())) {
      throw invalid_argument("comm backend: the gathered array has " + std::to_string(all.size()) +
                             " bytes, must have size() * " + std::to_string(mine.size()));
    }
    meeting_->gather(rank_, mine, all, timeout);
  }

  void barrier(std::chrono::nanoseconds timeout) override { meeting_->gather(rank_, {}, {}, timeout); }

 private:
  std::shared_ptr<meeting> meeting_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<comm_backend>> make_in_process_backends(int size) {
  if (size < 1 || size > max_ep_size) {
    throw invalid_argument("comm backend: size is " + std::to_string(size) + ", must be 1 .. " +
                           std::to_string(max_ep_size));
  }
  const auto shared = std::make_shared<meeting>(size);
  std::vector<std::shared_ptr<comm_backend>> backends;
  for (int rank = 0; rank < size; ++rank) backends.push_back(std::make_shared<in_process_backend>(shared, rank));
  return backends;
}

}  // namespace switchyard
