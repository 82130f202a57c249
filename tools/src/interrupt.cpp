// SPDX-License-Identifier: Apache-2.0
// Signals that stop a run.
#include "interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace switchyard::tools {
namespace {

// Lock-free, so a handler may write it, and any thread may read it.
std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  stop.store(true, std::memory_order_relaxed);
  constexpr char text[] = "\nstopping: the current case is left; once more ends the program at once\n";
  // A handler may not use streams. Nothing can be done when the write fails.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  // SA_RESTART: writes of records go on. SA_RESETHAND: the second signal has its default effect.
  action.sa_flags = static_cast<int>(static_cast<unsigned>(SA_RESTART) | static_cast<unsigned>(SA_RESETHAND));
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGHUP, &action, nullptr);
}

bool interrupted() noexcept { return stop.load(std::memory_order_relaxed); }

}  // namespace switchyard::tools
