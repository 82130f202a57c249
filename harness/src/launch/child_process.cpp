// SPDX-License-Identifier: Apache-2.0
#include "child_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>
#include <utility>

#include "control_channel.hpp"
#include "switchyard/harness/printable.hpp"
#include "switchyard/harness/rank_process.hpp"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration): not every C library's header has it

namespace switchyard::harness {
namespace {

constexpr std::chrono::milliseconds reap_interval{5};
constexpr std::chrono::seconds end_limit{5};
constexpr int most_output_pieces = 16;  // of output, before others are looked after
constexpr std::size_t most_line_bytes = 8192;

[[noreturn]] void fail(const char* what) {
  throw channel_error(std::string("a rank's process cannot be started: ") + what + ": " + std::strerror(errno));
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// This process's, but for the variable that tells a rank.
std::vector<std::string> environment_with(const std::string& variable) {
  std::vector<std::string> texts;
  const auto prefix = std::string(rank_process_variable) + '=';
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(prefix)) texts.emplace_back(*each);
  }
  texts.push_back(variable);
  return texts;
}

/// Behind fork(): calls that are safe there and nothing else.
[[noreturn]] void become(const program_call& program, char* const* arguments, char* const* variables, int control,
                         int output, pid_t parent) {
  constexpr int not_started = 127;
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(not_started);
  // An interrupt from the terminal is for the supervisor, who then ends the ranks.
  (void)::setpgid(0, 0);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
      ::dup2(output, STDERR_FILENO) < 0 || ::fcntl(control, F_SETFD, 0) != 0) {
    ::_exit(not_started);
  }
  ::execve(program.path.c_str(), arguments, variables);
  ::_exit(not_started);
}

std::string text_of(int status) {
  if (WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    return code == 0 ? "exited" : "exited with " + std::to_string(code);
  }
  const int number = WTERMSIG(status);
  return "was killed by signal " + std::to_string(number) + " (" + ::strsignal(number) + ')';
}

}  // namespace

program_call this_program() {
  program_call call;
  call.path = "/proc/self/exe";  // what runs here, also when its file has been replaced since
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) call.arguments.push_back(word);
  if (call.arguments.empty()) fail("/proc/self/cmdline");
  return call;
}

child_process::child_process(const program_call& program, const child_place& place) : rank_(place.rank) {
  (void)std::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may have it, nobody would learn how the child ended
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) fail("socketpair");
  control_ = unique_descriptor(sockets[0]);
  const unique_descriptor theirs(sockets[1]);
  std::array<int, 2> pipe{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail("pipe2");
  output_ = unique_descriptor(pipe[0]);
  const unique_descriptor written(pipe[1]);
  if (::fcntl(output_.get(), F_SETFL, O_NONBLOCK) != 0) fail("fcntl");

  auto argument_texts = program.arguments;
  std::string variable = std::string(rank_process_variable) + '=';
  for (const int number : {place.rank, theirs.get(), place.local_rank, place.local_size}) {
    if (variable.back() != '=') variable += ':';
    variable += std::to_string(number);
  }
  auto variable_texts = environment_with(variable);
  const auto arguments = pointers_to(argument_texts);
  const auto variables = pointers_to(variable_texts);
  const auto parent = ::getpid();
  id_ = ::fork();
  if (id_ < 0) fail("fork");
  if (id_ == 0) become(program, arguments.data(), variables.data(), theirs.get(), written.get(), parent);
}

child_process::~child_process() { kill(std::chrono::steady_clock::now() + end_limit); }

void child_process::pass_output() {
  std::array<char, 4096> piece;
  for (int pieces = 0; output_ && pieces < most_output_pieces; ++pieces) {
    const auto now = ::read(output_.get(), piece.data(), piece.size());
    if (now < 0 && errno == EINTR) continue;
    if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (now <= 0) {
      output_ = unique_descriptor();
      if (!begun_line_.empty()) print(std::exchange(begun_line_, {}));
      return;
    }
    begun_line_.append(piece.data(), static_cast<std::size_t>(now));
    for (auto end = begun_line_.find('\n'); end != std::string::npos; end = begun_line_.find('\n')) {
      print(begun_line_.substr(0, end));
      begun_line_.erase(0, end + 1);
    }
    if (begun_line_.size() > most_line_bytes) print(std::exchange(begun_line_, {}));
  }
}

void child_process::print(const std::string& line) {
  last_line_ = printable(line);
  std::cerr << "[rank " << rank_ << "] " << last_line_ << std::endl;
}

std::optional<std::string> child_process::look_for_end() {
  if (id_ <= 0) return end_;
  int status = 0;
  const auto found = ::waitpid(id_, &status, WNOHANG);
  if (found == id_) {
    id_ = -1;
    end_ = text_of(status);
    pass_output();
  }
  return end_;
}

bool child_process::is_stopped() const {
  if (id_ <= 0) return false;
  std::ifstream file("/proc/" + std::to_string(id_) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  // Behind the name in parentheses, which may hold anything: a letter, T where it is stopped, t by a debugger.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] == 'T' || text[name_end + 2] == 't';
}

void child_process::doom() const {
  if (id_ > 0) (void)::kill(id_, SIGKILL);
}

bool child_process::is_gone() {
  int status = 0;
  const auto found = ::waitpid(id_, &status, WNOHANG);
  return found == id_ || (found < 0 && errno != EINTR);
}

void child_process::kill(std::chrono::steady_clock::time_point limit) {
  if (id_ <= 0) return;
  doom();
  bool gone = is_gone();
  while (!gone && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(reap_interval);
    gone = is_gone();
  }
  if (!gone) {
    std::cerr << "switchyard: process " << id_ << " of rank " << rank_ << " does not end and is left behind"
              << std::endl;
  }
  id_ = -1;
  pass_output();
}

}  // namespace switchyard::harness
