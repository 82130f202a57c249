// SPDX-License-Identifier: Apache-2.0
// A loop over messages; the case itself runs on threads of its own.
#include "switchyard/harness/rank_process.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "../run/running_case.hpp"
#include "build_id.hpp"
#include "control_channel.hpp"
#include "messages.hpp"
#include "outcome_message.hpp"
#include "process_group.hpp"
#include "switchyard/harness/digest.hpp"
#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

constexpr auto beat_interval = 500ms;  // at the latest, while a case runs
constexpr int poll_ms = 50;
// Behind the last meeting a rank has nothing left but to take its things down.
constexpr auto end_look = 1ms;

class service_loop {
 public:
  service_loop(control_channel& channel, int rank, const rank_service& service)
      : channel_(channel), rank_(rank), service_(service) {}

  void run() {
    channel_.send({{"is", say::hello},
                   {"rank", rank_},
                   {"pid", ::getpid()},
                   {"identity", service_.identity},
                   {"as_seen", service_.as_seen}});
    while (!quit_) {
      wait_for_messages();
      for (const auto& message : channel_.receive()) handle(message);
      if (running_ != nullptr) look_after_case();
    }
  }

 private:
  void wait_for_messages() {
    const bool ends = running_ != nullptr && group_->has_ended(meeting_point::after_steps);
    if (ends && running_->wait(end_look)) return;
    pollfd one{channel_.descriptor(), POLLIN, 0};
    (void)::poll(&one, 1, ends ? 0 : running_ != nullptr ? poll_ms : -1);
  }

  void handle(const nlohmann::json& message) {
    const auto is = message.at("is").get<std::string_view>();
    if (is == say::quit) {
      quit_ = true;
    } else if (is == say::run) {
      begin(message);
    } else if (running_ == nullptr) {
      return;  // about a case that has ended here
    } else if (is == say::go) {
      group_->end(static_cast<meeting_point>(message.at("where").get<int>()), message.at("well").get<bool>());
    } else if (is == say::call_off) {
      running_->state().call_off(message.at("reason").get<std::string>());
      if (message.at("all").get<bool>()) group_->call_off(meeting_point::after_steps);
    }
  }

  void begin(const nlohmann::json& message) {
    backends_.renew(parse_rendezvous(message.at("meeting")));
    const auto& spec = service_.cases.at(message.at("case").get<std::size_t>());
    group_ = std::make_shared<process_group>(channel_, backends_, rank_, spec.ep_size,
                                             message.at("number").get<std::uint64_t>());
    run_options options;
    options.seed = service_.seed;
    options.machine = service_.machine;
    options.group = group_;
    try {
      auto begun = start_case(spec, service_.memory, options);
      if (const auto* ended = std::get_if<case_result>(&begun)) return refuse(ended->status, ended->reason);
      running_ = std::move(std::get<std::unique_ptr<running_case>>(begun));
    } catch (const std::exception& failure) {
      return refuse(case_status::crash, failure.what());
    }
    last_progress_ = 0;
    last_beat_ = std::chrono::steady_clock::now();
  }

  void refuse(case_status status, const std::string& reason) {
    channel_.send({{"is", say::refused}, {"status", static_cast<int>(status)}, {"reason", reason}});
  }

  void look_after_case() {
    if (running_->wait(0ns)) return end_case();
    const auto& state = running_->state();
    const auto progress = state.progress.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (progress == last_progress_ && now - last_beat_ < beat_interval) return;
    if (!channel_.is_taken()) return;  // a supervisor that is stopped for a while finds one beat, not a full socket
    last_progress_ = progress;
    last_beat_ = now;
    const auto& outcome = state.outcomes[static_cast<std::size_t>(rank_)];
    channel_.send(
        {{"is", say::beat}, {"progress", progress}, {"position", outcome.position.load(std::memory_order_relaxed)}});
  }

  void end_case() {
    running_->leave();
    const auto found = running_->found();
    nlohmann::json message{{"is", say::outcome},
                           {"found", outcome_json(found.outcomes[static_cast<std::size_t>(rank_)])},
                           {"traffic", traffic_json(found.traffic)}};
    const auto lost = service_.machine ? service_.machine->lost() : std::nullopt;
    message["lost"] = lost ? nlohmann::json(*lost) : nlohmann::json();
    running_ = nullptr;
    channel_.send(message);
  }

  control_channel& channel_;
  int rank_;
  const rank_service& service_;
  kept_backends backends_;
  std::shared_ptr<process_group> group_;
  std::unique_ptr<running_case> running_;
  std::uint64_t last_progress_ = 0;
  std::chrono::steady_clock::time_point last_beat_{};
  bool quit_ = false;
};

[[noreturn]] void refuse_place(const std::string& text) {
  throw input_error(std::string(rank_process_variable) + " is " + text +
                    ", must be RANK:DESCRIPTOR:LOCAL_RANK:LOCAL_SIZE; it is for the program itself to set");
}

}  // namespace

std::optional<rank_process_place> take_rank_process_place() {
  const char* value = std::getenv(rank_process_variable);  // NOLINT(concurrency-mt-unsafe): no thread is there yet
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  ::unsetenv(rank_process_variable);  // NOLINT(concurrency-mt-unsafe): as above
  rank_process_place place;
  const auto* at = text.data();
  const auto* const end = text.data() + text.size();
  for (int* number : {&place.rank, &place.descriptor, &place.local_rank, &place.local_size}) {
    if (number != &place.rank && (at == end || *at++ != ':')) refuse_place(text);
    const auto read = std::from_chars(at, end, *number);
    if (read.ec != std::errc()) refuse_place(text);
    at = read.ptr;
  }
  const bool fits = at == end && place.rank >= 0 && place.descriptor > STDERR_FILENO && place.local_rank >= 0 &&
                    place.local_rank < place.local_size;
  if (!fits) refuse_place(text);
  return place;
}

std::string identity_difference(const nlohmann::json& here, const nlohmann::json& there) {
  for (const auto& [key, value] : here.items()) {
    const auto found = there.find(key);
    if (found != there.end() && *found == value) continue;
    return key + " is " + (found == there.end() ? "not known" : found->dump()) + " there, " + value.dump() + " here";
  }
  return {};
}

nlohmann::json group_identity_json(const environment& where, std::uint64_t seed, const std::vector<case_spec>& cases) {
  constexpr std::uint16_t one = 1;
  return {{"version", where.version},
          {"commit", where.git_commit},
          {"modified", where.git_dirty.value_or(false)},
          {"compiler", where.compiler},
          {"build_type", where.build_type},
          {"sanitizers", where.sanitizers},
          {"build_id", build_id()},
          {"little_endian", *reinterpret_cast<const unsigned char*>(&one) == 1},
          {"seed", seed},
          {"cases", cases.size()},
          {"cases_digest", cases_digest(cases)}};
}

// Of a GPU's workspace the arena has a copy; the host's is a segment.
std::size_t required_bytes_of_process(const case_spec& spec, bool on_gpu) { return required_bytes(spec, 1, on_gpu); }

void serve_as_rank(const rank_process_place& place, const rank_service& service) {
  try {
    control_channel channel{unique_descriptor(place.descriptor)};
    service_loop(channel, place.rank, service).run();
  } catch (const std::exception& failure) {
    // A rank that nobody supervises must not live on, and its threads may never return.
    std::cerr << "switchyard: the supervisor of this rank is lost: " << failure.what() << std::endl;
    ::_exit(static_cast<int>(exit_code::environment));
  }
}

}  // namespace switchyard::harness
