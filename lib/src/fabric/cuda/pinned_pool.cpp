// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/pinned_pool.hpp"

#include <mutex>
#include <new>
#include <vector>

#include "fabric/cuda/driver_api.hpp"

namespace switchyard::cuda {
namespace {

constexpr std::size_t parts_per_page = 16;

class pool {
 public:
  /// Never destroyed: parts may be in use when the process ends.
  static pool& of_process() {
    static auto* const all = new pool;
    return *all;
  }

  pinned_part* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) grow();
    auto* const taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give_back(pinned_part* part) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(part);  // never allocates: grow() has reserved a place for every part there is
  }

 private:
  void grow() {
    free_.reserve(num_parts_ + parts_per_page);
    void* page = nullptr;
    check(cudaHostAlloc(&page, parts_per_page * sizeof(pinned_part), cudaHostAllocPortable | cudaHostAllocMapped),
          "pinned memory for fault records");
    for (std::size_t i = 0; i < parts_per_page; ++i) free_.push_back(static_cast<pinned_part*>(page) + i);
    num_parts_ += parts_per_page;
  }

  std::mutex mutex_;
  std::vector<pinned_part*> free_;
  std::size_t num_parts_ = 0;
};

}  // namespace

std::shared_ptr<pinned_part> take_pinned() {
  auto* const taken = pool::of_process().take();
  new (taken) pinned_part;
  return {taken, [](pinned_part* part) { pool::of_process().give_back(part); }};
}

}  // namespace switchyard::cuda
