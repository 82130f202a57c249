// SPDX-License-Identifier: Apache-2.0
// A thread per rank, for what all ranks must do at once.
#pragma once

#include <exception>
#include <thread>
#include <vector>

namespace switchyard::harness {

/// Runs `body(rank)` on a thread each, waits for all and throws the first failure.
template <class Body>
void on_every_rank(int ranks, Body body) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    threads.reserve(failures.size());
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(rank);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace switchyard::harness
