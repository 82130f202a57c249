// SPDX-License-Identifier: Apache-2.0
// Counting what is wrong on a device, and uploading tables.
#pragma once

#include <span>
#include <string>

#include "timed_ranks.hpp"

namespace switchyard::harness {

template <class Value>
device_bytes upload(std::span<const Value> values) {
  auto memory = take_device(values.size_bytes());
  check_cuda(cudaMemcpy(memory.get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice), "uploading a table");
  return memory;
}

/// `launch(rank, counter)` on every rank; what the counters then say, in words: empty when all are 0.
template <class Launch>
std::string count_wrong(timed_ranks& group, const std::string& what, Launch launch) {
  for (auto& one : group.ranks()) {
    one.make_current();
    check_cuda(cudaMemsetAsync(one.stamp(0), 0, sizeof(std::uint64_t), one.stream.get()), "clearing a counter");
    launch(one, reinterpret_cast<unsigned long long*>(one.stamp(0)));
  }
  group.synchronize();
  for (auto& one : group.ranks()) {
    if (const auto wrong = one.read_stamps(1).front(); wrong != 0) {
      return what + " of rank " + std::to_string(one.rank) + " are wrong in " + std::to_string(wrong) + " places";
    }
  }
  return {};
}

}  // namespace switchyard::harness
