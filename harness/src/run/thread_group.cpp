// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads count their arrivals themselves.
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "meeting.hpp"
#include "rank_group.hpp"

namespace switchyard::harness {
namespace {

class thread_group final : public rank_group {
 public:
  explicit thread_group(int ep_size) : ep_size_(ep_size), backends_(make_in_process_backends(ep_size)) {}

  [[nodiscard]] bool is_here(int) const noexcept override { return true; }
  [[nodiscard]] bool of_processes() const noexcept override { return false; }

  bool meet(meeting_point where, int, bool well) override {
    auto& point = points_.at(static_cast<std::size_t>(where));
    {
      const std::lock_guard lock(mutex_);
      point.all_well = point.all_well && well;
      if (++point.arrived >= ep_size_) point.meeting.end(point.all_well);
    }
    return point.meeting.wait();
  }

  void call_off(meeting_point where) override { points_.at(static_cast<std::size_t>(where)).meeting.end(false); }

  std::shared_ptr<comm_backend> backend(int rank) override { return backends_.at(static_cast<std::size_t>(rank)); }

  std::shared_ptr<comm_backend> backend_before(int step, int rank) override {
    const std::lock_guard lock(mutex_);
    auto& all = later_backends_[step];
    if (all.empty()) all = make_in_process_backends(ep_size_);
    return std::move(all.at(static_cast<std::size_t>(rank)));
  }

 private:
  struct point {
    int arrived = 0;       // guarded by mutex_
    bool all_well = true;  // as arrived
    harness::meeting meeting;
  };

  int ep_size_;
  std::vector<std::shared_ptr<comm_backend>> backends_;
  std::array<point, num_meeting_points> points_;
  std::mutex mutex_;
  std::map<int, std::vector<std::shared_ptr<comm_backend>>> later_backends_;  // by step; guarded by mutex_
};

}  // namespace

std::shared_ptr<rank_group> make_thread_group(int ep_size) { return std::make_shared<thread_group>(ep_size); }

}  // namespace switchyard::harness
