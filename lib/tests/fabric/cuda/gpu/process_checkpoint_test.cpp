// SPDX-License-Identifier: Apache-2.0
// The driver's own checkpoint of a process, from outside, between checkpoint_prepare() and checkpoint_restore().
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "checkpoint_steps.hpp"

extern char** environ;

namespace switchyard {
namespace {

using namespace std::chrono_literals;

constexpr const char* role_variable = "SWITCHYARD_CHECKPOINTED_PROCESS";
constexpr int from_parent = 10;  // descriptors of the child
constexpr int to_parent = 11;

/// Reads a line of a pipe; empty when it does not come in time, or the other end is gone.
std::string line_within(int descriptor, std::chrono::milliseconds timeout) {
  std::string line;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{descriptor, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return {};
    char letter = 0;
    if (read(descriptor, &letter, 1) != 1) return {};
    if (letter == '\n') return line;
    line += letter;
  }
}

void say(int descriptor, std::string line) {
  line += '\n';
  if (write(descriptor, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

class checkpointed_process : public test::gpu_test<1> {};

/// The child's part; by itself it is no test.
TEST_F(checkpointed_process, DISABLED_steps_before_and_behind) {
  const auto* role = std::getenv(role_variable);
  ASSERT_NE(role, nullptr) << "started by another test only";
  const bool prepares = std::string(role) == "prepared";
  test::recovering_group group(test::recovering_exchange(2, choice::automatic), 1, test::launch_by::graph);
  const auto everybody = group.everybody();
  const auto should_be = group.expected(everybody);
  test::on_every_rank(2, [&](int rank) {
    group.group().make_current(rank);
    auto& instance = group.group().instance(rank);
    group.expect_exact_steps(rank, everybody, should_be, "nothing");
    group.meet();
    if (prepares) instance.checkpoint_prepare();
    group.meet();
    if (rank == 0) {
      say(to_parent, "ready");
      EXPECT_EQ(line_within(from_parent, 90s), "go");
    }
    group.meet();
    if (prepares) instance.checkpoint_restore(group.backend(rank));
    group.expect_exact_steps(rank, everybody, should_be, "the checkpoint of the process");
  });
  say(to_parent, HasFailure() ? "wrong" : "exact");
}

/// The driver's entry points, as it has them.
template <class Function>
Function entry_point(const char* name) {
  void* found = nullptr;
  auto result = cudaDriverEntryPointSymbolNotFound;
  const auto asked = cudaGetDriverEntryPointByVersion(name, &found, 12080, cudaEnableDefault, &result);
  return asked == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(found) : nullptr;
}

class child_process {
 public:
  explicit child_process(const std::string& role) {
    int down[2];
    int up[2];
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, down[0], from_parent);
    posix_spawn_file_actions_adddup2(&actions, up[1], to_parent);
    const auto setting = std::string(role_variable) + "=" + role;
    std::vector<char*> environment{const_cast<char*>(setting.c_str())};
    for (char** each = environ; *each != nullptr; ++each) {
      if (std::strncmp(*each, "GTEST_", 6) != 0) environment.push_back(*each);  // where results go is the parent's
    }
    environment.push_back(nullptr);
    std::array<const char*, 4> arguments{"checkpointed_process", "--gtest_also_run_disabled_tests",
                                         "--gtest_filter=checkpointed_process.DISABLED_steps_before_and_behind",
                                         nullptr};
    if (posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, const_cast<char**>(arguments.data()),
                    environment.data()) != 0) {
      pid_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    close(down[0]);
    close(up[1]);
    to_child_ = down[1];
    from_child_ = up[0];
  }
  ~child_process() {
    close(to_child_);
    close(from_child_);
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] std::string line(std::chrono::milliseconds timeout) const { return line_within(from_child_, timeout); }
  void tell(const std::string& what) const { say(to_child_, what); }
  /// Waits for its end; -1: it did not end by itself.
  int exit_code(std::chrono::seconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) return -1;
      std::this_thread::sleep_for(10ms);
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
};

class process_checkpoint : public test::gpu_test<1> {
 protected:
  /// Lock, checkpoint, restore, unlock, as far as the driver goes; what it said to each. Empty: it has no such thing.
  std::string take_through(int pid) {
    const auto lock = entry_point<CUresult (*)(int, CUcheckpointLockArgs*)>("cuCheckpointProcessLock");
    const auto checkpoint =
        entry_point<CUresult (*)(int, CUcheckpointCheckpointArgs*)>("cuCheckpointProcessCheckpoint");
    const auto restore = entry_point<CUresult (*)(int, CUcheckpointRestoreArgs*)>("cuCheckpointProcessRestore");
    const auto unlock = entry_point<CUresult (*)(int, CUcheckpointUnlockArgs*)>("cuCheckpointProcessUnlock");
    if (lock == nullptr || checkpoint == nullptr || restore == nullptr || unlock == nullptr) return {};
    const test::device_room room(1);
    std::string said;
    const auto note = [&](const char* what, auto call) {
      const auto begin = std::chrono::steady_clock::now();
      const CUresult result = call();
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
      std::printf("%s: %d after %lld ms; free %zu MiB\n", what, static_cast<int>(result),
                  static_cast<long long>(took.count()), room.free_bytes() >> 20);
      said += (said.empty() ? "" : " ") + std::string(what) + "=" + std::to_string(static_cast<int>(result));
      return result == CUDA_SUCCESS;
    };
    CUcheckpointLockArgs patience{};
    patience.timeoutMs = 20000;
    if (!note("lock", [&] { return lock(pid, &patience); })) return said;
    if (note("checkpoint", [&] { return checkpoint(pid, nullptr); })) {
      note("restore", [&] { return restore(pid, nullptr); });
    }
    note("unlock", [&] { return unlock(pid, nullptr); });
    return said;
  }
};

TEST_F(process_checkpoint, of_a_prepared_process_leaves_its_graphs_exact) {
  test::check_cuda(cudaFree(nullptr));
  child_process child("prepared");
  ASSERT_GT(child.pid(), 0);
  ASSERT_EQ(child.line(90s), "ready");
  const auto said = take_through(child.pid());
  if (said.empty()) GTEST_SKIP() << "the driver has no entry points for it";
  EXPECT_EQ(said, "lock=0 checkpoint=0 restore=0 unlock=0");
  child.tell("go");
  EXPECT_EQ(child.line(90s), "exact");
  EXPECT_EQ(child.exit_code(30s), 0);
}

/// Why there is checkpoint_prepare() at all: what the driver says of a workspace that is mapped by handles.
TEST_F(process_checkpoint, of_a_process_that_has_not_prepared_is_refused) {
  test::check_cuda(cudaFree(nullptr));
  child_process child("not prepared");
  ASSERT_GT(child.pid(), 0);
  ASSERT_EQ(child.line(90s), "ready");
  const auto said = take_through(child.pid());
  if (said.empty()) GTEST_SKIP() << "the driver has no entry points for it";
  EXPECT_EQ(said.find("lock=0 checkpoint=0 restore="), 0U) << said;
  EXPECT_EQ(said.find("restore=0"), std::string::npos) << said;
}

}  // namespace
}  // namespace switchyard
