// SPDX-License-Identifier: Apache-2.0
// A rank on the CPU: the library works on the harness's own memory, so there is nothing to copy.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "rank_device.hpp"
#include "switchyard/harness/arena.hpp"

namespace switchyard::harness {
namespace {

class host_device final : public rank_device {
 public:
  host_device(int workers, std::pmr::memory_resource& workspaces) : stream_(workers), workspaces_(workspaces) {}

  void bind_thread() override {}
  void describe(bootstrap& boot) const override {
    boot.kind = fabric_kind::host;
    boot.host_memory = &workspaces_;
  }
  stream_ref stream() override { return stream_; }
  void enqueue(std::function<void()> task) override { stream_.enqueue(std::move(task)); }
  void synchronize() override { stream_.synchronize(); }

  std::byte* address_of(std::size_t, const fenced_buffer& host) override { return host.data(); }
  void upload(std::size_t, const fenced_buffer&) override {}
  all_damage damage(const all_buffers& hosts) override {
    all_damage found;
    for (std::size_t which = 0; which < hosts.size(); ++which) found.at(which) = hosts.at(which)->damage();
    return found;
  }
  std::byte* draft_of(std::byte* place, std::byte*) override { return place; }
  void write(std::byte* place, const std::byte* draft, std::size_t bytes) override {
    if (place != draft) std::memcpy(place, draft, bytes);
  }
  void read(std::byte* into, const std::byte* place, std::size_t bytes) override {
    if (place != into) std::memcpy(into, place, bytes);
  }
  void fill(std::byte* place, int value, std::size_t bytes) override { std::memset(place, value, bytes); }
  dispatch_result readable(const dispatch_result& views) override { return views; }

 private:
  host_stream stream_;
  std::pmr::memory_resource& workspaces_;
};

}  // namespace

bool rank_device::has_memory(const std::byte* place) const {
  const auto page = page_bytes();
  const auto first = reinterpret_cast<std::uintptr_t>(place) / page * page;
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(first), page, &resident) == 0 && (resident & 1U) != 0;
}

std::unique_ptr<rank_device> make_host_device(const case_spec& spec, std::pmr::memory_resource& workspaces) {
  return std::make_unique<host_device>(spec.workers, workspaces);
}

}  // namespace switchyard::harness
