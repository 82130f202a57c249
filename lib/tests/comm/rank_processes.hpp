// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes: forked from the test, each with its own end. None outlives the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backend_maker.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::test {

/// What a rank finds wrong ends it, and is told by the test.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

/// Memory that all ranks and the test share.
template <class Value>
class shared {
 public:
  shared()
      : value_(new (::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                   Value()) {}
  ~shared() { (void)::munmap(value_, sizeof(Value)); }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;
  Value* operator->() const noexcept { return value_; }

 private:
  Value* value_;
};

class rank_processes {
 public:
  /// Every process ends by itself after so long: by SIGALRM.
  static constexpr unsigned most_seconds = 50;

  rank_processes(int count, const std::function<void(int)>& body) {
    for (int rank = 0; rank < count; ++rank) {
      int ends[2] = {-1, -1};
      if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
      unique_descriptor read_end(ends[0]);
      const unique_descriptor write_end(ends[1]);
      const auto parent = ::getpid();
      const pid_t child = ::fork();
      if (child < 0) throw std::runtime_error("fork");
      if (child == 0) {
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        (void)::alarm(most_seconds);
        ::_exit(run(rank, body, write_end.get()));
      }
      ranks_.push_back({child, std::move(read_end)});
    }
  }
  ~rank_processes() {
    for (auto& each : ranks_) {
      if (each.id <= 0) continue;
      (void)::kill(each.id, SIGKILL);
      (void)::waitpid(each.id, nullptr, 0);
    }
  }
  rank_processes(const rank_processes&) = delete;
  rank_processes& operator=(const rank_processes&) = delete;

  void send_signal(int rank, int number) const { (void)::kill(ranks_[static_cast<std::size_t>(rank)].id, number); }

  /// Waits for its end. Empty: it found all well; else what was wrong, or which signal has ended it.
  std::string outcome(int rank) {
    auto& each = ranks_[static_cast<std::size_t>(rank)];
    std::string text;
    char piece[512];
    for (ssize_t bytes = 0; (bytes = ::read(each.told.get(), piece, sizeof(piece))) != 0;) {
      if (bytes > 0) text.append(piece, static_cast<std::size_t>(bytes));
    }
    int status = 0;
    (void)::waitpid(std::exchange(each.id, -1), &status, 0);
    if (WIFSIGNALED(status)) text += "ended by signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && text.empty()) text = "failed without a word";
    return text;
  }

  void expect_all_well() {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) EXPECT_EQ(outcome(rank), "") << "rank " << rank;
  }

 private:
  struct process {
    pid_t id = -1;
    unique_descriptor told;
  };

  static int run(int rank, const std::function<void(int)>& body, int told) {
    std::string text;
    try {
      body(rank);
      return 0;
    } catch (const std::exception& e) {
      text = e.what();
    }
    (void)!::write(told, text.data(), text.size());
    return 1;
  }

  std::vector<process> ranks_;
};

/// Calls, and requires that it throws this and names those.
inline void require_missing(const rank_set& missing, const std::function<void()>& call) {
  try {
    call();
  } catch (const peer_fault& e) {
    require(e.record().missing == missing, std::string("other ranks are missing: ") + e.what());
    return;
  }
  throw std::runtime_error("nobody was missing");
}

template <class Error>
void require_error(const std::string& text, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    require(std::string(e.what()).find(text) != std::string::npos, std::string("another message: ") + e.what());
    return;
  }
  throw std::runtime_error("nothing was thrown: " + text);
}

using clock = std::chrono::steady_clock;
inline std::int64_t now_ns() { return clock::now().time_since_epoch().count(); }

/// `at once`, on a machine that may be busy with other things; deadlines that must not be waited for are far later.
constexpr std::int64_t at_once_ns = 8'000'000'000;
inline void require_at_once(std::int64_t since_ns) {
  const auto waited = now_ns() - since_ns;
  require(waited < at_once_ns, "told only after " + std::to_string(waited / 1'000'000) + " ms");
}

/// Ranks that begin something together, however late the machine starts them.
class starting_line {
 public:
  /// Returns when `count` have come for the `round`th time, from 1 on.
  void await_all(int count, int round = 1) const {
    ++*come_.operator->();
    while (come_->load() < count * round) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  shared<std::atomic<int>> come_;
};

/// Returns when `count` has come to `value`.
inline void await(const std::atomic<int>& count, int value) {
  while (count.load() < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

inline int num_open_descriptors() {
  int count = 0;
  for (int descriptor = 0; descriptor < 4096; ++descriptor) count += ::fcntl(descriptor, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

inline void require_open_descriptors(int count) {
  const int open = num_open_descriptors();
  require(open == count, std::to_string(open) + " descriptors are open, not " + std::to_string(count));
}

}  // namespace switchyard::test
