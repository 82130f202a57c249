// SPDX-License-Identifier: Apache-2.0
// How the processes of a job come together under rank 0.
#include "switchyard/harness/job.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "agent.hpp"
#include "local_rank.hpp"
#include "messages.hpp"
#include "remote_rank.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/rank_process.hpp"
#include "tcp_socket.hpp"

namespace switchyard::harness {
namespace {

constexpr int accept_ms = 100;

/// Equal for processes that meet by unix sockets of the abstract namespace and pass descriptors. Never recorded.
std::string host_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network {};
  if (::stat("/proc/self/ns/net", &network) == 0) boot += '/' + std::to_string(network.st_ino);
  return boot;
}

child_place place_of(const launched_process& process) { return {process.rank, process.local_rank, process.local_size}; }

nlohmann::json join_message(const job_process& process) {
  const auto& place = process.place;
  return {{"is", say::join},
          {"rank", place.rank},
          {"size", place.size},
          {"local_rank", place.local_rank},
          {"local_size", place.local_size},
          {"job", place.job},
          {"host", host_identity()},
          {"identity", process.identity}};
}

/// Rank 0, while it waits for the others.
class gathering {
 public:
  gathering(const job_process& process, unique_descriptor listener)
      : process_(process), listener_(std::move(listener)), agents_(static_cast<std::size_t>(process.place.size)) {
    places_[0] = {process.place.local_rank, process.place.local_size, host_identity()};
  }

  joined_job run() {
    const auto give_up = std::chrono::steady_clock::now() + process_.limit;
    while (places_.size() < agents_.size()) {
      if (process_.stop_requested && process_.stop_requested()) {
        throw environment_error("stopped while ranks were coming together");
      }
      if (std::chrono::steady_clock::now() > give_up) throw environment_error(missing_text());
      wait();
      while (auto socket = accept_one(listener_)) {
        newcomers_.push_back(std::make_unique<control_channel>(std::move(socket)));
      }
      for (auto& each : newcomers_) greet(each);
      std::erase(newcomers_, nullptr);
    }
    return result();
  }

 private:
  struct place {
    int local_rank = 0;
    int local_size = 1;
    std::string host;
  };

  void wait() {
    std::vector<pollfd> all{{listener_.get(), POLLIN, 0}};
    for (const auto& each : newcomers_) all.push_back({each->descriptor(), POLLIN, 0});
    (void)::poll(all.data(), all.size(), accept_ms);
  }

  /// Takes its join. What is none is a stranger's, and is let go.
  void greet(std::unique_ptr<control_channel>& newcomer) {
    try {
      const auto messages = newcomer->receive();
      if (messages.empty()) return;
      const auto& join = messages.front();
      if (join.at("is").get<std::string_view>() != say::join) throw channel_error("it does not join");
      const auto problem = problem_of_join(join);
      if (!problem.empty()) {
        // One that says it is of this job and is not fit for it: the others would wait for nothing.
        if (join.at("job") == process_.place.job) failure_ = problem;
        newcomer->send({{"is", say::turned_away}, {"reason", problem}});
      } else {
        const auto rank = join.at("rank").get<int>();
        newcomer->send({{"is", say::welcome}});
        places_[rank] = {join.at("local_rank").get<int>(), join.at("local_size").get<int>(),
                         join.at("host").get<std::string>()};
        agents_[static_cast<std::size_t>(rank)] = std::move(newcomer);
      }
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it may have gone again, or be anyone
    }
    newcomer = nullptr;
    if (!failure_.empty()) throw environment_error(failure_);
  }

  [[nodiscard]] std::string problem_of_join(const nlohmann::json& join) const {
    const auto rank = join.at("rank").get<int>();
    const auto name = "rank " + std::to_string(rank);
    if (join.at("job") != process_.place.job) return name + " is of another job";
    const auto size = join.at("size").get<int>();
    if (size != process_.place.size) {
      return name + " is of " + std::to_string(size) + " processes, rank 0 of " + std::to_string(process_.place.size);
    }
    if (rank <= 0 || rank >= size) return name + " is none of 1 .. " + std::to_string(size - 1);
    if (places_.contains(rank)) return name + " is there twice";
    const auto other = identity_difference(process_.identity, join.at("identity"));
    return other.empty() ? "" : name + " does not fit: " + other;
  }

  [[nodiscard]] std::string missing_text() const {
    std::string names;
    for (int rank = 0; rank < process_.place.size; ++rank) {
      if (!places_.contains(rank)) names += (names.empty() ? "" : ", ") + std::to_string(rank);
    }
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(process_.limit);
    return "ranks that did not come within " + std::to_string(limit.count()) + " ms: " + names;
  }

  /// Memory and GPUs are found by where a rank is among those of its host.
  void require_blocks() const {
    const int per_host = process_.place.local_size;
    for (const auto& [rank, where] : places_) {
      const auto& first = places_.at(rank - rank % per_host);
      const bool in_block =
          where.local_size == per_host && where.local_rank == rank % per_host && where.host == first.host;
      if (in_block) continue;
      throw environment_error("rank " + std::to_string(rank) + " is rank " + std::to_string(where.local_rank) + " of " +
                              std::to_string(where.local_size) +
                              " of its host: ranks must lie in blocks of one size, " + "here " +
                              std::to_string(per_host) + ", on their hosts");
    }
  }

  joined_job result() {
    joined_job job;
    job.one_host = std::ranges::all_of(places_, [&](const auto& each) { return each.second.host == places_[0].host; });
    require_blocks();
    job.ranks_per_host = process_.place.local_size;
    std::set<std::string> hosts;
    for (const auto& [rank, where] : places_) hosts.insert(where.host);
    job.num_hosts = static_cast<int>(hosts.size());
    if (!job.one_host) {
      job.rendezvous_host = process_.place.host;
      job.rendezvous_port = rendezvous_port_of(port_of(listener_));
      if (!is_port_free(job.rendezvous_port)) {
        throw environment_error("port " + std::to_string(job.rendezvous_port) +
                                ", at which ranks of several hosts meet, is taken");
      }
    }
    std::vector<std::unique_ptr<rank_link>> links;
    links.push_back(std::make_unique<local_rank>(this_program(), place_of(process_.place)));
    for (std::size_t rank = 1; rank < agents_.size(); ++rank) {
      links.push_back(std::make_unique<remote_rank>(std::move(agents_[rank])));
    }
    job.links = rank_links(std::move(links));
    return job;
  }

  const job_process& process_;
  unique_descriptor listener_;
  std::vector<std::unique_ptr<control_channel>> newcomers_;
  std::vector<std::unique_ptr<control_channel>> agents_;  // by rank; none of rank 0
  std::map<int, place> places_;                           // by rank
  std::string failure_;
};

}  // namespace

joined_job gather_job(const job_process& process) { return gathering(process, listen_at(process.place.port)).run(); }

joined_job gather_job(const job_process& process, int listener) {
  return gathering(process, unique_descriptor(listener)).run();
}

int listen_at_free_ports(std::uint16_t& port) {
  constexpr int attempts = 200;
  std::minstd_rand draw(std::random_device{}());
  // As slurm_port(): what the system gives to outgoing connections is left alone.
  std::uniform_int_distribution<int> pairs(10000, 14999);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    port = static_cast<std::uint16_t>(2 * pairs(draw));
    if (!is_port_free(port) || !is_port_free(rendezvous_port_of(port))) continue;
    try {
      return listen_at(port).release();
    } catch (const environment_error&) {  // NOLINT(bugprone-empty-catch): somebody was faster
    }
  }
  throw environment_error("no two ports in a row are free between 20000 and 30000");
}

void serve_as_agent(const job_process& process) {
  control_channel supervisor(connect_to(process.place.host, process.place.port, process.limit, process.stop_requested));
  try {
    supervisor.send(join_message(process));
    const auto give_up = std::chrono::steady_clock::now() + process.limit;
    std::vector<nlohmann::json> answer;
    while (answer.empty() && std::chrono::steady_clock::now() < give_up) {
      pollfd one{supervisor.descriptor(), POLLIN, 0};
      (void)::poll(&one, 1, accept_ms);
      answer = supervisor.receive();
      if (process.stop_requested && process.stop_requested()) throw environment_error("stopped");
    }
    if (answer.empty()) throw environment_error("rank 0 does not answer");
    if (answer.front().at("is").get<std::string_view>() != say::welcome) {
      throw environment_error("rank 0 has turned this process away: " + answer.front().at("reason").get<std::string>());
    }
    agent(supervisor, this_program(), place_of(process.place))
        .serve({answer.begin() + 1, answer.end()}, process.stop_requested);
  } catch (const channel_error& failure) {
    throw environment_error(std::string("rank 0 is lost: ") + failure.what());
  } catch (const nlohmann::json::exception& failure) {
    throw environment_error(std::string("rank 0 says what is no message: ") + failure.what());
  }
}

}  // namespace switchyard::harness
