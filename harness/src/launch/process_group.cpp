// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "messages.hpp"
#include "switchyard/socket_backend.hpp"

namespace switchyard::harness {
namespace {

// All processes are there when they make a backend: the supervisor has them meet before.
constexpr std::chrono::seconds making_limit{60};

}  // namespace

nlohmann::json rendezvous_json(const rendezvous_choice& choice) {
  return {{"one_host", choice.one_host}, {"name", choice.name}, {"host", choice.host}, {"port", choice.port}};
}

rendezvous_choice parse_rendezvous(const nlohmann::json& message) {
  return {message.at("one_host").get<bool>(), message.at("name").get<std::string>(),
          message.at("host").get<std::string>(), message.at("port").get<std::uint16_t>()};
}

void kept_backends::renew(const rendezvous_choice& choice) {
  if (choice.name == choice_.name) return;
  by_size_.clear();
  choice_ = choice;
}

std::shared_ptr<comm_backend> kept_backends::of(int rank, int ep_size) {
  auto& kept = by_size_[ep_size];
  if (kept == nullptr) kept = make(rank, ep_size, "of" + std::to_string(ep_size));
  return kept;
}

std::shared_ptr<comm_backend> kept_backends::make(int rank, int ep_size, const std::string& purpose) const {
  const auto name = choice_.name + '-' + purpose;
  const switchyard::process_group which{rank, ep_size, making_limit, name};
  if (choice_.one_host) return make_unix_socket_backend({name}, which);
  return make_tcp_backend({choice_.host, choice_.port, {}}, which);
}

bool process_group::meet(meeting_point where, int rank, bool well) {
  auto& point = points_.at(static_cast<std::size_t>(where));
  try {
    channel_.send({{"is", say::met}, {"where", static_cast<int>(where)}, {"rank", rank}, {"well", well}});
  } catch (const channel_error&) {  // the loop sees it as well, and ends the process
    point.end(false);
  }
  return point.wait();
}

void process_group::call_off(meeting_point where) {
  auto& point = points_.at(static_cast<std::size_t>(where));
  if (point.has_ended()) return;
  point.end(false);
  try {
    channel_.send({{"is", say::off}, {"where", static_cast<int>(where)}});
  } catch (const channel_error&) {  // NOLINT(bugprone-empty-catch): as above
  }
}

std::shared_ptr<comm_backend> process_group::backend_before(int step, int rank) {
  return backends_.make(rank, ep_size_, "case" + std::to_string(number_) + "-step" + std::to_string(step));
}

void process_group::end(meeting_point where, bool well) { points_.at(static_cast<std::size_t>(where)).end(well); }

bool process_group::has_ended(meeting_point where) const {
  return points_.at(static_cast<std::size_t>(where)).has_ended();
}

}  // namespace switchyard::harness
