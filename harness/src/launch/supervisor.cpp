// SPDX-License-Identifier: Apache-2.0
// The one loop in which the processes of a group are heard, watched and ended.
#include "switchyard/harness/supervisor.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <utility>

#include "child_process.hpp"
#include "control_channel.hpp"
#include "local_rank.hpp"
#include "messages.hpp"
#include "process_group.hpp"
#include "supervised_case.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/rank_process.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;
using supervision_clock = supervised_case::clock;

constexpr int look_ms = 100;
constexpr auto stopped_look = 1s;
constexpr auto stop_grace = 400ms;  // somebody waits for the program to end
constexpr auto quit_grace = 3s;
constexpr auto kill_limit = 10s;
// So long the others may take to miss a rank whose process has ended, for their records: a deadline that is longer is
// not waited for.
constexpr auto most_miss_time = 2s;
constexpr int most_failed_starts = 3;

/// A rank in whose process a signal, a debugger or a machine without memory keeps it from running answers nothing, and
/// nothing it holds up goes on; it need not be waited for as one that computes.
constexpr auto stopped_patience = 5s;

std::string fresh_token() {
  std::random_device source;
  std::string text;
  for (int i = 0; i < 2; ++i) text += (text.empty() ? "" : "-") + std::to_string(source());
  return text;
}

}  // namespace

class supervisor::impl {
 public:
  impl(supervisor_options options, std::vector<std::unique_ptr<rank_link>> links, std::string host, std::uint16_t port)
      : options_(std::move(options)), links_(std::move(links)), said_hello_(links_.size()), as_seen_(links_.size()) {
    rendezvous_.one_host = host.empty();
    rendezvous_.host = std::move(host);
    rendezvous_.port = port;
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(links_.size()); }
  [[nodiscard]] nlohmann::json as_seen() const { return as_seen_; }

  /// What keeps the first `count` ranks from coming; empty when all are there.
  std::string start(int count) {
    bool any_started = false;
    for (int rank = 0; rank < count; ++rank) {
      if (said_hello_[index(rank)]) (void)link(rank).look();  // it may have ended since
      if (link(rank).lives()) continue;
      said_hello_[index(rank)] = false;
      any_started = true;
      try {
        link(rank).start();
      } catch (const channel_error& failure) {
        return "rank " + std::to_string(rank) + ": " + failure.what();
      }
    }
    if (any_started) new_life();
    const auto give_up = supervision_clock::now() + options_.start_limit;
    while (true) {
      std::string missing;
      for (int rank = 0; rank < count; ++rank) {
        const auto problem = hear_hello(rank);
        if (!problem.empty()) return problem;
        if (said_hello_[index(rank)]) continue;
        missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
        if (link(rank).is_stopped()) missing += " (its process is stopped)";
      }
      if (missing.empty()) return {};
      if (supervision_clock::now() > give_up) {
        const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(options_.start_limit);
        return "ranks that did not start within " + std::to_string(limit.count()) + " ms: " + missing;
      }
      if (options_.stop_requested && options_.stop_requested()) return "stopped while ranks were starting";
      wait();
    }
  }

  case_result run(const case_spec& spec) {
    if (spec.ep_size > size()) {
      return ended(case_status::skipped, "needs " + std::to_string(spec.ep_size) + " ranks, there are " +
                                             std::to_string(size()) + " processes");
    }
    const auto place = std::ranges::find(options_.cases, spec.id, &case_spec::id);
    if (place == options_.cases.end()) return ended(case_status::crash, "the processes do not have this case");
    if (const auto problem = start(spec.ep_size); !problem.empty()) {
      kill_all();
      if (options_.stop_requested && options_.stop_requested()) return ended(case_status::missing, problem);
      if (++failed_starts_ < most_failed_starts) {
        return ended(case_status::crash, "the group could not be started: " + problem);
      }
      std::cerr << "switchyard: the group could not be started " << failed_starts_ << " times in a row: " << problem
                << std::endl;
      return ended(case_status::missing, problem);
    }
    failed_starts_ = 0;
    supervised_case running(spec);
    const nlohmann::json order{{"is", say::run},
                               {"case", place - options_.cases.begin()},
                               {"number", ++number_},
                               {"meeting", rendezvous_json(rendezvous_)}};
    for (int rank = 0; rank < spec.ep_size; ++rank) link(rank).send(order);
    const auto end = watch(running, spec);
    const auto one_clock = [this](int rank, int other) { return have_one_clock(rank, other); };
    auto result = running.result(options_.seed, options_.on_gpus, one_clock, end.stuck);
    if (end.stopped) result = ended(case_status::missing, "stopped before its end");
    if (spec.inject && spec.inject->ends_process()) kill(spec.inject->rank);  // the next case has a new one
    // Of a group that has seen a failure nothing is known, but after a skip all is as before.
    const bool left_as_told = running.was_called_off() && !running.any_refused();
    if (!running.all_heard() || running.any_ended() || left_as_told || result.status == case_status::device_lost) {
      kill_all();
    } else if (result.status != case_status::pass && result.status != case_status::skipped) {
      new_life();
    }
    return result;
  }

  void kill_all() noexcept {
    for (auto& each : links_) each->doom();
    const auto limit = supervision_clock::now() + kill_limit;
    for (auto& each : links_) each->kill(limit);
  }

  void stop() noexcept {
    try {
      for (auto& each : links_) {
        if (each->lives()) each->send({{"is", say::quit}});
      }
      const auto give_up = supervision_clock::now() + quit_grace;
      const auto any_lives = [&] {
        return std::ranges::any_of(links_, [](const auto& each) { return each->lives(); });
      };
      while (any_lives() && supervision_clock::now() < give_up) {
        wait();
        for (auto& each : links_) (void)each->look();
      }
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what did not quit is killed
    }
    kill_all();
  }

 private:
  struct watch_end {
    bool stopped = false;
    std::string stuck;
  };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] rank_link& link(int rank) { return *links_[index(rank)]; }

  static case_result ended(case_status status, std::string reason) {
    case_result result;
    result.status = status;
    result.reason = std::move(reason);
    return result;
  }

  /// Backends of before are not to be met again.
  void new_life() { rendezvous_.name = "switchyard-" + token_ + "-life" + std::to_string(++lives_); }

  void kill(int rank) { link(rank).kill(supervision_clock::now() + kill_limit); }

  void wait() {
    std::vector<pollfd> all;
    for (const auto& each : links_) {
      for (const int descriptor : each->descriptors()) all.push_back({descriptor, POLLIN, 0});
    }
    (void)::poll(all.data(), all.size(), look_ms);
  }

  std::string hear_hello(int rank) {
    for (const auto& message : link(rank).look()) {
      try {
        if (message.at("is").get<std::string_view>() != say::hello) continue;
        const auto other = identity_difference(options_.identity, message.at("identity"));
        if (!other.empty()) return "rank " + std::to_string(rank) + " does not fit: " + other;
        as_seen_[index(rank)] = message.at("as_seen");
      } catch (const nlohmann::json::exception& failure) {  // of another build, perhaps
        return "rank " + std::to_string(rank) + " said what cannot be understood, " + failure.what();
      }
      said_hello_[index(rank)] = true;
    }
    if (link(rank).lives()) return {};
    auto text = "rank " + std::to_string(rank) + ' ' + link(rank).end() + " before all had started";
    if (const auto words = link(rank).last_words(); !words.empty()) text += "; it said: " + words;
    return text;
  }

  [[nodiscard]] bool have_one_clock(int rank, int other) const {
    const auto per_host = options_.ranks_per_host;
    if (per_host != 0 && rank / per_host != other / per_host) return false;
    if (!options_.on_gpus) return true;
    const auto gpu_of = [this](int which) {
      return as_seen_[index(which)].value("gpu_address", std::to_string(which));
    };
    return gpu_of(rank) == gpu_of(other);
  }

  void tell_all(const supervised_case& running, const case_spec& spec, const nlohmann::json& message) {
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      if (!running.is_heard(rank)) link(rank).send(message);
    }
  }

  void tell_end(const supervised_case& running, const case_spec& spec, const ended_meeting& meeting) {
    tell_all(running, spec, {{"is", say::go}, {"where", static_cast<int>(meeting.where)}, {"well", meeting.well}});
  }

  /// Hears all ranks of the case once, having waited until there is something to hear.
  void hear_all(supervised_case& running, const case_spec& spec) {
    wait();
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      try {
        for (const auto& message : link(rank).look()) {
          if (const auto meeting = running.hear(rank, message)) tell_end(running, spec, *meeting);
        }
      } catch (const std::exception& failure) {
        kill(rank);
        running.note_end(rank, std::string("said what cannot be understood, ") + failure.what() + ", and was ended");
      }
      const bool lives = link(rank).lives();
      const bool stopped = is_due_to_end(spec, rank) && link(rank).is_stopped();
      if (running.has_come_to_due_end(rank, lives, stopped, link(rank).end())) {
        for (const auto& meeting : running.note_due_end(rank)) tell_end(running, spec, meeting);
      } else if (!lives) {
        auto how = link(rank).end();
        if (const auto words = link(rank).last_words(); !words.empty()) how += ", having said \"" + words + "\",";
        running.note_end(rank, how);
      }
    }
    for (int rank = spec.ep_size; rank < size(); ++rank) (void)link(rank).look();
  }

  /// Lets the ranks leave the case, those that can.
  void call_off(supervised_case& running, const case_spec& spec, const std::string& reason,
                std::chrono::nanoseconds grace) {
    running.note_call_off();
    for (const bool all : {false, true}) {
      if (running.all_heard()) return;
      tell_all(running, spec, {{"is", say::call_off}, {"reason", reason}, {"all", all}});
      const auto give_up = supervision_clock::now() + grace;
      const auto is_over = [&] { return all ? running.all_heard() : running.all_heard_or_waiting(); };
      do {
        hear_all(running, spec);
      } while (!is_over() && supervision_clock::now() < give_up);
    }
  }

  /// A rank's process has ended: the others miss it, and say so, where that does not take long.
  void let_others_miss(supervised_case& running, const case_spec& spec) {
    const std::chrono::nanoseconds deadline = spec.timeout;
    if (deadline > most_miss_time) return;
    const auto give_up = supervision_clock::now() + deadline + deadline / 4;
    while (!running.all_heard_or_waiting() && supervision_clock::now() < give_up) hear_all(running, spec);
  }

  static bool is_due_to_end(const case_spec& spec, int rank) {
    return spec.inject && spec.inject->ends_process() && spec.inject->rank == rank;
  }

  [[nodiscard]] std::vector<bool> stopped_ranks(const case_spec& spec) {
    std::vector<bool> stopped;
    for (int rank = 0; rank < spec.ep_size; ++rank)
      stopped.push_back(link(rank).is_stopped() && !is_due_to_end(spec, rank));
    return stopped;
  }

  watch_end watch(supervised_case& running, const case_spec& spec) {
    const auto limits = limits_of(spec);
    const auto begin = supervision_clock::now();
    auto looked = begin;
    auto all_ran = begin;
    const auto stuck = [&](const std::string& what) {
      const auto names = running.silent_ranks(stopped_ranks(spec));
      const auto silent = running.silent(stopped_ranks(spec));  // now: some of them may leave when they are told to
      call_off(running, spec, "the supervisor saw " + what, limits.grace);
      return watch_end{false, what + ": " + names + running.missed_by(silent)};
    };
    while (!running.all_heard()) {
      hear_all(running, spec);
      const auto now = supervision_clock::now();
      if (options_.stop_requested && options_.stop_requested()) {
        call_off(running, spec, "the run was stopped", stop_grace);
        return {true, {}};
      }
      if (running.any_ended()) let_others_miss(running, spec);
      if (running.any_ended() || running.any_refused()) {
        call_off(running, spec, "a rank of the group has left the case", limits.grace);
        return {};
      }
      if (now - running.last_progress() > limits.patience) return stuck("no progress for " + text_of(limits.patience));
      if (now - begin > options_.case_limit) return stuck("no end within " + text_of(options_.case_limit));
      if (now - looked < stopped_look) continue;
      looked = now;
      const auto stopped = stopped_ranks(spec);
      if (std::ranges::find(stopped, true) == stopped.end()) all_ran = now;
      if (now - all_ran > std::max<std::chrono::nanoseconds>(stopped_patience, spec.timeout)) {
        return stuck("a process that does not run");
      }
    }
    return {};
  }

  static std::string text_of(std::chrono::nanoseconds limit) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()) + " ms";
  }

  supervisor_options options_;
  std::vector<std::unique_ptr<rank_link>> links_;
  std::vector<bool> said_hello_;
  std::vector<nlohmann::json> as_seen_;
  rendezvous_choice rendezvous_;
  std::string token_ = fresh_token();
  std::uint64_t lives_ = 0;
  int failed_starts_ = 0;  // in a row
  std::uint64_t number_ = 0;
};

rank_links::rank_links() = default;
rank_links::rank_links(std::vector<std::unique_ptr<rank_link>> all) : all_(std::move(all)) {}
rank_links::~rank_links() = default;
rank_links::rank_links(rank_links&&) noexcept = default;
rank_links& rank_links::operator=(rank_links&&) noexcept = default;
std::vector<std::unique_ptr<rank_link>> rank_links::take() { return std::move(all_); }

supervisor::supervisor(supervisor_options options, rank_links links, std::string rendezvous_host,
                       std::uint16_t rendezvous_port)
    : impl_(std::make_unique<impl>(std::move(options), links.take(), std::move(rendezvous_host), rendezvous_port)) {}

supervisor::~supervisor() { stop(); }

int supervisor::size() const noexcept { return impl_->size(); }

void supervisor::start() {
  const auto problem = impl_->start(size());
  if (problem.empty()) return;
  impl_->kill_all();
  throw environment_error(problem);
}

nlohmann::json supervisor::as_seen() const { return impl_->as_seen(); }

case_result supervisor::run(const case_spec& spec) { return impl_->run(spec); }

void supervisor::stop() noexcept { impl_->stop(); }

rank_links make_local_ranks(int count) {
  std::vector<std::unique_ptr<rank_link>> ranks;
  try {
    const auto program = this_program();
    for (int rank = 0; rank < count; ++rank)
      ranks.push_back(std::make_unique<local_rank>(program, child_place{rank, rank, count}));
  } catch (const channel_error& failure) {
    throw environment_error(failure.what());
  }
  return rank_links(std::move(ranks));
}

}  // namespace switchyard::harness
