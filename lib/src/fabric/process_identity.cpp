// SPDX-License-Identifier: Apache-2.0
#include "fabric/process_identity.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <random>

namespace switchyard {

namespace {

std::atomic<std::uint64_t> drawn_number{0};

}  // namespace

process_identity identity_of_process() {
  // Two forks may each be the first process of a container: they draw for themselves.
  static const int forgets_in_forks = pthread_atfork(nullptr, nullptr, [] { drawn_number = 0; });
  (void)forgets_in_forks;
  auto drawn = drawn_number.load();
  if (drawn == 0) {
    std::random_device entropy;
    const auto fresh = static_cast<std::uint64_t>(entropy()) << 32 | entropy() | 1U;
    if (drawn_number.compare_exchange_strong(drawn, fresh)) drawn = fresh;
  }
  return {drawn, getpid()};
}

}  // namespace switchyard
