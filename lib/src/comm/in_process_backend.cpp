// SPDX-License-Identifier: Apache-2.0
// A rendezvous of threads: one board that every rank writes to and reads from, one generation per collective call.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "comm/deadline.hpp"
#include "comm/descriptors.hpp"
#include "comm/group_identity.hpp"
#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

class meeting {
 public:
  /// `ranks`: what the members are called, by place.
  meeting(std::vector<int> ranks, group_id id)
      : ranks_(std::move(ranks)), here_(ranks_.size()), joined_(ranks_.size()), gifts_(ranks_.size()), id_(id) {}

  [[nodiscard]] group_id id() const noexcept { return id_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int name_of(int place) const noexcept { return ranks_[static_cast<std::size_t>(place)]; }

  void gather(int place, std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    if (broken_) throw peer_fault(why_broken_, absence_);
    const auto generation = generation_;
    const auto index = static_cast<std::size_t>(place);
    gifts_[index].assign(mine.begin(), mine.end());
    here_[index] = true;
    if (std::all_of(here_.begin(), here_.end(), [](bool came) { return came; })) {
      finish_generation();
    } else if (!done_.wait_for(lock, timeout, [&] { return generation_ != generation || broken_; })) {
      break_up(timeout);
    }
    if (generation_ == generation) throw peer_fault(why_broken_, absence_);
    // The next generation cannot complete, and so cannot replace the result, before this rank has come to it.
    if (!sizes_agree_)
      throw invalid_argument("comm backend: rank " + std::to_string(ranks_[index]) + " gathers " +
                             std::to_string(mine.size()) + " bytes, must be as many as every other rank");
    if (!result_.empty()) std::memcpy(all.data(), result_.data(), result_.size());
  }

  /// The meeting of these places alone that `place` is to come to: the oldest that it has not been to and that is not
  /// broken, so that who comes late to an attempt, or has given one up, waits for the next.
  std::shared_ptr<meeting> part_for(int place, const rank_set& members) {
    std::vector<int> names;
    std::size_t index = 0;
    for (int each = 0; each < size(); ++each) {
      if (!contains(members, each)) continue;
      if (each == place) index = names.size();
      names.push_back(ranks_[static_cast<std::size_t>(each)]);
    }
    const std::lock_guard lock(parts_mutex_);
    std::erase_if(parts_, [](const auto& part) { return part.where.expired(); });
    for (const auto& kept : parts_) {
      auto part = kept.members == members ? kept.where.lock() : nullptr;
      if (part && part->join(index)) return part;
    }
    const auto part = std::make_shared<meeting>(std::move(names), id_);
    (void)part->join(index);
    parts_.push_back({members, part});
    return part;
  }

 private:
  bool join(std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (broken_ || joined_[index]) return false;
    joined_[index] = true;
    return true;
  }

  void finish_generation() {
    sizes_agree_ =
        std::all_of(gifts_.begin(), gifts_.end(), [&](const auto& gift) { return gift.size() == gifts_[0].size(); });
    result_.clear();
    for (const auto& gift : gifts_) result_.insert(result_.end(), gift.begin(), gift.end());
    std::fill(here_.begin(), here_.end(), false);
    ++generation_;
    done_.notify_all();
  }

  void break_up(std::chrono::nanoseconds timeout) {
    for (std::size_t index = 0; index < here_.size(); ++index) {
      if (!here_[index]) insert(absence_.missing, ranks_[index]);
    }
    absence_.timeout_ns = static_cast<std::uint64_t>(timeout.count());
    why_broken_ = "comm backend: rank(s) " + comm::names_of(absence_.missing) + " did not come within " +
                  std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()) + " ms";
    broken_ = true;
    done_.notify_all();
  }

  std::vector<int> ranks_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::vector<bool> here_;
  std::vector<bool> joined_;  ///< of a part: who has asked for it
  std::vector<std::vector<std::byte>> gifts_;
  std::vector<std::byte> result_;
  bool sizes_agree_ = true;
  std::uint64_t generation_ = 0;
  bool broken_ = false;
  std::string why_broken_;
  fault_record absence_;
  group_id id_;

  std::mutex parts_mutex_;
  struct kept_part {
    rank_set members;  ///< by places
    std::weak_ptr<meeting> where;
  };
  std::vector<kept_part> parts_;  ///< oldest first; held by those who meet there
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

  [[nodiscard]] int name_of(int place) const noexcept override { return meeting_->name_of(place); }

  void barrier(std::chrono::nanoseconds timeout) override { meeting_->gather(rank_, {}, {}, timeout); }

  [[nodiscard]] bool passes_descriptors() const noexcept override { return true; }

  /// Ranks see each other's numbers, so each copies for itself; nobody leaves, and closes its own, until all have.
  std::vector<int> allgather_descriptors(int mine, std::chrono::nanoseconds timeout) override {
    const comm::deadline until(timeout);
    const auto kept = comm::copy_of(mine);  // also tells whether it is open
    const int given = kept.get();
    std::vector<int> all(static_cast<std::size_t>(size()));
    meeting_->gather(rank_, std::as_bytes(std::span(&given, 1)), std::as_writable_bytes(std::span(all)), timeout);
    std::vector<unique_descriptor> copies;
    std::exception_ptr failure;
    try {
      for (const int each : all) copies.push_back(comm::copy_of(each));
    } catch (...) {
      failure = std::current_exception();
    }
    meeting_->gather(rank_, {}, {}, until.remaining());
    if (failure) std::rethrow_exception(failure);
    return comm::release_all(copies);
  }

  std::shared_ptr<comm_backend> part_of(const rank_set& members, std::chrono::nanoseconds) override {
    const auto places = comm::places_of(members, rank_, size());
    const auto mine = std::find(places.begin(), places.end(), rank_);
    const auto place = static_cast<int>(std::distance(places.begin(), mine));
    return std::make_shared<in_process_backend>(meeting_->part_for(rank_, members), place);
  }

 private:
  std::shared_ptr<meeting> meeting_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<comm_backend>> make_in_process_backends(int size) {
  comm::check_place(0, size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto shared = std::make_shared<meeting>(std::move(ranks), comm::new_group_id());
  std::vector<std::shared_ptr<comm_backend>> backends;
  for (int rank = 0; rank < size; ++rank) backends.push_back(std::make_shared<in_process_backend>(shared, rank));
  return backends;
}

}  // namespace switchyard
