// SPDX-License-Identifier: Apache-2.0
#include "child_lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace switchyard::harness {
namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { close(); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

std::vector<std::string> environment_with(const std::string& variable) {
  const auto name = variable.substr(0, variable.find('=') + 1);
  std::vector<std::string> result;
  if (!variable.empty()) result.push_back(variable);
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string text(*one);
    if (variable.empty() || !text.starts_with(name)) result.push_back(text);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (auto& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// The process, or -1 and the reason.
pid_t start(std::vector<std::string> command, const std::string& variable, int output, std::string& why_not) {
  auto environment = environment_with(variable);
  const auto arguments = pointers_to(command);
  const auto variables = pointers_to(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, arguments.front(), &actions, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  why_not = command.front() + " cannot be run: " + text_of(error);
  return -1;
}

std::string await_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return "its end is not known: " + text_of(errno);
  }
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? std::string() : "ended with exit code " + std::to_string(code);
}

}  // namespace

std::string read_child_lines(const std::vector<std::string>& command, const std::string& variable,
                             std::chrono::milliseconds patience, const std::function<void(const std::string&)>& line) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe: " + text_of(errno);
  const descriptor reading(ends[0]);
  descriptor writing(ends[1]);
  std::string why_not;
  const pid_t child = start(command, variable, writing.get(), why_not);
  if (child < 0) return why_not;
  writing.close();

  std::string pending;
  auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waited{reading.get(), POLLIN, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      ::kill(child, SIGKILL);
      (void)await_end(child);
      return "said nothing for " + std::to_string(patience.count()) + " ms and was killed";
    }
    std::array<char, 65536> part{};
    const auto count = ::read(reading.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return await_end(child);
    pending.append(part.data(), static_cast<std::size_t>(count));
    for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      line(pending.substr(0, end));
      pending.erase(0, end + 1);
      deadline = std::chrono::steady_clock::now() + patience;
    }
  }
}

}  // namespace switchyard::harness
