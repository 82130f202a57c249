// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/mailbox_pool.hpp"

#include <mutex>
#include <new>
#include <vector>

#include "fabric/cuda/driver_api.hpp"

namespace switchyard::cuda {
namespace {

constexpr std::size_t mailboxes_per_page = 16;

/// Each on lines of its own: a device writes one while the host reads its neighbour.
struct alignas(layout::line_bytes) pooled_mailbox {
  layout::fault_mailbox mailbox;
};

class pool {
 public:
  /// Never destroyed: mailboxes may be in use when the process ends.
  static pool& of_process() {
    static auto* const all = new pool;
    return *all;
  }

  pooled_mailbox* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) grow();
    auto* const taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give_back(pooled_mailbox* mailbox) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(mailbox);  // never allocates: grow() has reserved a place for every mailbox there is
  }

 private:
  void grow() {
    free_.reserve(num_mailboxes_ + mailboxes_per_page);
    void* page = nullptr;
    check(
        cudaHostAlloc(&page, mailboxes_per_page * sizeof(pooled_mailbox), cudaHostAllocPortable | cudaHostAllocMapped),
        "pinned memory for fault records");
    for (std::size_t i = 0; i < mailboxes_per_page; ++i) free_.push_back(static_cast<pooled_mailbox*>(page) + i);
    num_mailboxes_ += mailboxes_per_page;
  }

  std::mutex mutex_;
  std::vector<pooled_mailbox*> free_;
  std::size_t num_mailboxes_ = 0;
};

}  // namespace

std::shared_ptr<layout::fault_mailbox> take_mailbox() {
  auto* const taken = pool::of_process().take();
  new (taken) pooled_mailbox;
  return {&taken->mailbox, [taken](layout::fault_mailbox*) { pool::of_process().give_back(taken); }};
}

}  // namespace switchyard::cuda
