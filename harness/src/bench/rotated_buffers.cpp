// SPDX-License-Identifier: Apache-2.0
#include "rotated_buffers.hpp"

#include "device_check.hpp"
#include "switchyard/harness/bench_accounting.hpp"

namespace switchyard::harness {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

std::size_t cache_bytes_of(const timed_rank& one) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, one.rank), "properties of a device");
  return static_cast<std::size_t>(properties.l2CacheSize);
}

}  // namespace

rotated_buffers::rotated_buffers(bench_group& group, const bench_options& options, std::int64_t tokens)
    : group_(group) {
  const auto rows = static_cast<std::size_t>(tokens);
  auto set_bytes = aligned(rows * group.output_row_bytes());
  for (const auto kind : all_payloads) set_bytes += aligned(rows * group.row_bytes(kind));
  for (auto& one : group.ranks()) {
    one.make_current();
    auto& mine = ranks_.emplace_back();
    const auto cache = cache_bytes_of(one);
    const auto count = copies_past_cache(set_bytes, cache, static_cast<std::size_t>(options.steps));
    mine.memory = take_device(count * set_bytes);
    mine.scratch_bytes = 2 * cache;
    mine.scratch = take_device(mine.scratch_bytes);
    auto* next = bytes_of(mine.memory);
    for (std::size_t i = 0; i < count; ++i) {
      auto& copy = mine.copies.emplace_back();
      for (const auto kind : all_payloads) {
        const auto index = static_cast<std::size_t>(kind);
        const auto bytes = rows * group.row_bytes(kind);
        copy.payloads[index] = next;
        check_cuda(cudaMemcpyAsync(next, group.of(one).payloads[index].get(), bytes, cudaMemcpyDeviceToDevice,
                                   one.stream.get()),
                   "copying inputs");
        next += aligned(bytes);
      }
      copy.output = next;
      const auto bytes = rows * group.output_row_bytes();
      check_cuda(cudaMemsetAsync(next, 0xCD, bytes, one.stream.get()), "spoiling outputs");
      next += aligned(bytes);
    }
  }
  group.synchronize();
}

step_buffers rotated_buffers::of(const timed_rank& one, int step) const {
  const auto& copies = ranks_[static_cast<std::size_t>(one.rank)].copies;
  return copies[static_cast<std::size_t>(step) % copies.size()];
}

void rotated_buffers::empty_caches() {
  for (auto& one : group_.ranks()) {
    one.make_current();
    auto& mine = ranks_[static_cast<std::size_t>(one.rank)];
    check_cuda(cudaMemsetAsync(mine.scratch.get(), 0, mine.scratch_bytes, one.stream.get()), "emptying the cache");
  }
}

void rotated_buffers::require_outputs(std::int64_t tokens) {
  const auto bytes = static_cast<std::uint64_t>(tokens) * group_.output_row_bytes();
  for (std::size_t i = 0; i < ranks_.front().copies.size(); ++i) {
    const auto wrong = count_wrong(group_, "outputs of a rotated buffer", [&](const timed_rank& one, auto* counter) {
      const auto& mine = ranks_[static_cast<std::size_t>(one.rank)];
      launch_comparison(mine.copies[i].output, bytes_of(group_.of(one).output), bytes, counter, one.stream.get());
    });
    if (!wrong.empty()) throw wrong_result(wrong);
  }
}

}  // namespace switchyard::harness
