// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/neighbours.hpp"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "fabric/collective_step.hpp"
#include "fabric/exchange_descriptors.hpp"
#include "fabric/host/address_book.hpp"
#include "fabric/host/host_block.hpp"
#include "fabric/process_identity.hpp"
#include "layout/round_state.hpp"
#include "protocol/fault.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::host {
namespace {

class threads final : public neighbours {
 public:
  threads(const neighbourly_rank& self, std::vector<std::shared_ptr<shared_part>> parts)
      : handle_(self.handle), part_(self.part), parts_(std::move(parts)) {
    for (const auto& part : parts_) bases_.push_back(part->memory.data());
    handle_.peers = bases_.data();
  }

  [[nodiscard]] std::vector<std::byte*> bases() const override { return bases_; }

  // The memory stays what it was, so whoever may still store into it is poisoned in its own workspace, from outside.
  [[nodiscard]] rank_set keep_out(const rank_set& left_out, std::chrono::nanoseconds timeout) override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const auto part_of = [&](int rank) -> shared_part& { return *parts_[static_cast<std::size_t>(rank)]; };
    // All of them first: one that stays inside takes the time in which the others were to leave.
    rank_set poisoned{};
    for (int rank = 0; rank < handle_.ep_size; ++rank) {
      if (contains(left_out, rank) && poison_from_outside(rank, part_of(rank))) insert(poisoned, rank);
    }
    rank_set inside{};
    for (int rank = 0; rank < handle_.ep_size; ++rank) {
      if (contains(poisoned, rank) && !part_of(rank).inside.wait_empty_until(deadline)) insert(inside, rank);
    }
    return inside;
  }

  void renew(const rank_meeting& meeting, const std::function<void()>& initialise) override {
    // Where there is no memory for one of them, nobody begins anew.
    (void)collective_step<nothing>(meeting, [&]() -> nothing {
      part_->memory.back_again();
      return {};
    });
    const std::lock_guard lock(part_->next_life);
    initialise();
  }

  void release_memory() override { part_->memory.release(); }

 private:
  /// Ends what `rank` may do to this rank's memory, and to that of whoever recovers with it. False: it has recovered
  /// without this rank, nothing of its new life comes here, and it was left alone.
  bool poison_from_outside(int rank, shared_part& part) const {
    const std::lock_guard lock(part.next_life);
    host_block block;
    auto other = handle_;
    other.rank = rank;
    other.self = part.memory.data();
    other.mailbox = &part.mailbox;
    const auto own_bit = std::uint64_t{1} << (static_cast<unsigned>(handle_.rank) % 64);
    const auto& latched = other.rank_mask().latched;
    if ((block.poll(&latched[static_cast<std::size_t>(handle_.rank) / 64]) & own_bit) == 0) return false;
    part.kept_out_by = handle_.rank;
    poison(other, handle_.rank);
    return true;
  }

  protocol::workspace_handle handle_;
  std::shared_ptr<shared_part> part_;
  std::vector<std::shared_ptr<shared_part>> parts_;
  std::vector<std::byte*> bases_;
};

/// Every rank sees every slice through a mapping of its own, so memory can be replaced for those who take part in that,
/// and who does not goes on in the old one, which is nobody else's.
class processes final : public neighbours {
 public:
  explicit processes(const neighbourly_rank& self) : handle_(self.handle), part_(self.part) {
    if (part_->memory.window() == nullptr) {
      throw unsupported("host_memory is a resource of one process, must be null where ranks are processes");
    }
    for (int rank = 0; rank < handle_.ep_size; ++rank) {
      windows_.push_back(rank == handle_.rank ? nullptr : std::make_unique<segment_window>(bytes()));
    }
  }

  [[nodiscard]] std::vector<std::byte*> bases() const override {
    std::vector<std::byte*> all;
    for (int rank = 0; rank < handle_.ep_size; ++rank) all.push_back(window_of(rank).data());
    return all;
  }

  [[nodiscard]] rank_set keep_out(const rank_set& /*left_out*/, std::chrono::nanoseconds /*timeout*/) override {
    return {};
  }

  void renew(const rank_meeting& meeting, const std::function<void()>& initialise) override {
    try {
      hand_round_segments(meeting);
      // Everybody has everything. From here on it is shown, and those who have it go on with it.
      (void)collective_step<nothing>(meeting, [&]() -> nothing {
        const std::lock_guard lock(part_->next_life);
        // The own one last: before it nothing has changed that this rank's poisoned workspace could meet.
        for (const int rank : meeting.ranks()) {
          if (rank != handle_.rank) window_of(rank).show();
        }
        window_of(handle_.rank).show();
        initialise();
        return {};
      });
    } catch (...) {
      for (int rank = 0; rank < handle_.ep_size; ++rank) window_of(rank).discard();
      throw;
    }
  }

  void release_memory() override {
    for (int rank = 0; rank < handle_.ep_size; ++rank) window_of(rank).take_away();
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return handle_.layout.total_bytes; }
  [[nodiscard]] segment_window& window_of(int rank) const {
    return rank == handle_.rank ? *part_->memory.window() : *windows_[static_cast<std::size_t>(rank)];
  }

  /// Prepares a new segment in every window of the ranks that meet. Throws on all of them, or on none.
  void hand_round_segments(const rank_meeting& meeting) {
    unique_descriptor mine;
    (void)collective_step<nothing>(meeting, [&]() -> nothing {
      mine = make_segment(bytes());
      window_of(handle_.rank).prepare(mine.get());
      return {};
    });
    const auto all = exchange_descriptors(meeting, mine.get());
    (void)collective_step<nothing>(meeting, [&]() -> nothing {
      for (std::size_t place = 0; place < all.size(); ++place) {
        const int rank = meeting.ranks()[place];
        if (rank != handle_.rank) window_of(rank).prepare(all[place].get());
      }
      return {};
    });
  }

  protocol::workspace_handle handle_;
  std::shared_ptr<shared_part> part_;
  std::vector<std::unique_ptr<segment_window>> windows_;  ///< by rank; null: this one, whose window the part has
};

std::unique_ptr<neighbours> make_threads(comm_backend& backend, const neighbourly_rank& self,
                                         std::chrono::nanoseconds timeout) {
  std::vector<std::shared_ptr<shared_part>> parts;
  for (auto& part : exchange_addresses(backend, self.part, timeout)) {
    parts.push_back(std::static_pointer_cast<shared_part>(std::move(part)));
  }
  return std::make_unique<threads>(self, std::move(parts));
}

}  // namespace

std::unique_ptr<neighbours> meet_neighbours(comm_backend& backend, const neighbourly_rank& self,
                                            const std::function<void()>& initialise, std::chrono::nanoseconds timeout) {
  const rank_meeting meeting("construction", backend, timeout);
  std::unique_ptr<processes> apart;
  bool together = true;
  const auto all = collective_step<process_identity>(meeting, [] { return identity_of_process(); });
  for (const auto& each : all) together = together && each == all[0];
  if (together) return make_threads(backend, self, timeout);
  (void)collective_step<nothing>(meeting, [&]() -> nothing {
    if (!backend.passes_descriptors()) {
      throw unsupported("host fabric: ranks are processes, and the comm backend passes no descriptors");
    }
    apart = std::make_unique<processes>(self);
    return {};
  });
  apart->renew(meeting, initialise);
  return apart;
}

void poison(const protocol::workspace_handle& ws, int by) {
  host_block block;
  auto& round = ws.round();
  if (block.elect(&round.fault_elected)) {
    fault_record record;
    record.code = fault_code::aborted;
    record.phase = static_cast<phase>(block.load_u32(&round.phase_due));
    record.epoch = block.load_u32(&round.epoch);
    record.rank = record.origin = by;
    record.from_notice = 1;
    record.entered_ns = host_block::now_ns();
    protocol::tell_arrivals(block, ws, record.phase, record.epoch, block.poll(&round.step_index) & 1U);
    protocol::tell_no_difference(ws);
    block.record(ws.mailbox, record);
    // From itself, whom it hears whatever its mask; what the record says of `by` stands already.
    const protocol::notice told{record.code, record.phase, record.field, static_cast<std::uint8_t>(ws.rank), by};
    block.post(&ws.notice().word, layout::tagged(protocol::encode(told), block.load_u32(&round.incarnation)));
    block.announce(&round.fault_announced, 1);
  }
  block.store_u32(&round.poison, 1);
}

}  // namespace switchyard::host
