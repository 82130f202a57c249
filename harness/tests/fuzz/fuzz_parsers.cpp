// SPDX-License-Identifier: Apache-2.0
// fuzz_parsers: gives spoiled texts to a parser. Same seed, same texts; an input is repeated by its number.
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "mutator.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "targets.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace {

using namespace switchyard::harness;

constexpr const char* usage =
    "usage: fuzz_parsers --parser scenario|trace|record|id --scenarios DIR [--count N] [--seed S] [--first N] "
    "[--print]\n"
    "\n"
    "Gives N spoiled texts (default 20000), the first with number --first (default 0), to a parser. Exit code 0: each\n"
    "was taken or refused as it should; 1: some were not, and their numbers are printed; 5: usage.\n"
    "--print writes the text with number --first to stdout instead.\n";

struct options {
  std::string parser;
  std::string scenarios;
  std::uint64_t count = 20'000;
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  bool print = false;
};

std::uint64_t number_of(const std::string& option, const std::string& text) {
  std::uint64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || rest != end) throw input_error(option + ": " + text + ": must be an integer");
  return number;
}

options parse_arguments(int argc, char** argv) {
  options result;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--print") {
      result.print = true;
      continue;
    }
    if (i + 1 == argc) throw input_error(option + ": no such option, or its value is missing");
    const std::string value = argv[++i];
    if (option == "--parser") {
      result.parser = value;
    } else if (option == "--scenarios") {
      result.scenarios = value;
    } else if (option == "--count") {
      result.count = number_of(option, value);
    } else if (option == "--seed") {
      result.seed = number_of(option, value);
    } else if (option == "--first") {
      result.first = number_of(option, value);
    } else {
      throw input_error(option + ": no such option");
    }
  }
  return result;
}

// What is being tried, for the last words of a process that a parser brings down. Written before each input.
std::array<char, 160> in_flight{};

void tell_in_flight() {
  const auto length = std::find(in_flight.begin(), in_flight.end(), '\0') - in_flight.begin();
  if (::write(STDERR_FILENO, in_flight.data(), static_cast<std::size_t>(length)) < 0) return;
}

extern "C" void die_telling(int signal) {
  tell_in_flight();
  std::signal(signal, SIG_DFL);  // NOLINT(cert-err33-c): it cannot fail for a signal that has just come
  ::raise(signal);               // NOLINT(cert-err33-c)
}

/// An endless loop ends too: the timer counts processor time and is wound up again before each input.
void wind_timer() {
  constexpr time_t seconds = 20;
  const itimerval timer{{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

void prepare_last_words() {
  for (const int signal : {SIGPROF, SIGABRT}) std::signal(signal, die_telling);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(tell_in_flight);
#else
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, die_telling);
#endif
}

/// The start of a problem, which may hold anything, for a line of output.
std::string shown(std::string text) {
  constexpr std::size_t most = 300;
  if (text.size() > most) text.resize(most);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char byte) { return byte < 0x20U || byte > 0x7EU; }, '?');
  return text;
}

int run(const options& how) {
  const auto target = fuzz::make_target(how.parser, how.scenarios);
  const fuzz::mutator texts(target.form, target.seeds, target.words);
  if (how.print) {
    std::cout << texts.make(how.seed, how.first);
    return 0;
  }
  for (const auto& seed : target.seeds) {
    const auto result = fuzz::judge(target, seed, std::chrono::seconds(1));
    if (result.verdict == fuzz::verdict::accepted) continue;
    throw std::runtime_error("a seed is refused: " + shown(result.problem.empty() ? seed : result.problem));
  }
  prepare_last_words();
  std::array<std::uint64_t, 3> counts{};
  std::chrono::nanoseconds slowest{0};
  for (auto number = how.first; number < how.first + how.count; ++number) {
    std::snprintf(in_flight.data(), in_flight.size(), "fuzz_parsers: in --parser %s --seed %llu --first %llu\n",
                  how.parser.c_str(), static_cast<unsigned long long>(how.seed),
                  static_cast<unsigned long long>(number));
    wind_timer();
    const auto result = fuzz::judge(target, texts.make(how.seed, number), std::chrono::seconds(1));
    ++counts[static_cast<std::size_t>(result.verdict)];
    slowest = std::max(slowest, result.cpu_time);
    if (result.verdict == fuzz::verdict::wrong) {
      std::cout << "--parser " << how.parser << " --seed " << how.seed << " --first " << number << ": "
                << shown(result.problem) << std::endl;
    }
  }
  const auto [accepted, refused, wrong] = counts;
  std::cout << how.parser << ": " << how.count << " texts from number " << how.first << " of seed " << how.seed << ": "
            << accepted << " accepted, " << refused << " refused, " << wrong << " wrong; the slowest took "
            << std::chrono::duration_cast<std::chrono::microseconds>(slowest).count() << " us\n";
  constexpr std::uint64_t enough = 1000;
  const bool one_sided = how.count >= enough && (accepted < how.count / 50 || refused < how.count / 50);
  if (one_sided) std::cout << "texts that are nearly all accepted or nearly all refused test nothing\n";
  return wrong > 0 || one_sided ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse_arguments(argc, argv));
  } catch (const input_error& error) {
    std::cerr << "fuzz_parsers: " << error.what() << '\n' << usage;
    return 5;
  } catch (const std::exception& error) {
    std::cerr << "fuzz_parsers: " << error.what() << '\n';
    return 6;
  }
}
