// SPDX-License-Identifier: Apache-2.0
#include "switchyard/socket_backend.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/descriptors.hpp"
#include "comm/group_identity.hpp"
#include "comm/membership.hpp"
#include "comm/pairing.hpp"
#include "comm/rendezvous.hpp"
#include "comm/socket_domain.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

class socket_backend final : public comm_backend {
 public:
  explicit socket_backend(std::unique_ptr<comm::membership> members) : members_(std::move(members)) {}

  [[nodiscard]] int rank() const noexcept override { return members_->place(); }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(members_->ranks().size()); }
  [[nodiscard]] switchyard::group_id group_id() const noexcept override { return members_->mesh().id(); }
  [[nodiscard]] int name_of(int place) const noexcept override {
    return members_->ranks()[static_cast<std::size_t>(place)];
  }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) override {
    if (all.size() != mine.size() * static_cast<std::size_t>(size())) {
      throw invalid_argument("comm backend: the gathered array has " + std::to_string(all.size()) +
                             " bytes, must have size() * " + std::to_string(mine.size()));
    }
    if (mine.size() > comm::most_body_bytes) {
      throw invalid_argument("comm backend: a rank gathers " + std::to_string(mine.size()) +
                             " bytes, must be at most " + std::to_string(comm::most_body_bytes));
    }
    const auto frames = members_->exchange(comm::gather_call::bytes, mine, nullptr, comm::deadline(timeout));
    for (int place = 0; place < size(); ++place) {
      const auto& theirs = frames[static_cast<std::size_t>(place)];
      const auto body = place == rank() ? mine : std::span<const std::byte>(theirs.body);
      check_same_call(place, theirs, body.size() == mine.size() && theirs.header.call == comm::gather_call::bytes,
                      "gathers " + std::to_string(mine.size()) + " bytes");
      if (!body.empty())
        std::memcpy(all.data() + static_cast<std::size_t>(place) * mine.size(), body.data(), body.size());
    }
  }

  void barrier(std::chrono::nanoseconds timeout) override { allgather({}, {}, timeout); }

  [[nodiscard]] bool passes_descriptors() const noexcept override { return members_->mesh().passes_descriptors(); }

  std::vector<int> allgather_descriptors(int mine, std::chrono::nanoseconds timeout) override {
    if (!passes_descriptors()) return comm_backend::allgather_descriptors(mine, timeout);
    const auto given = std::make_shared<const unique_descriptor>(comm::copy_of(mine));
    const bool gives = static_cast<bool>(*given);
    auto frames = members_->exchange(gives ? comm::gather_call::descriptor : comm::gather_call::no_descriptor, {},
                                     gives ? given : nullptr, comm::deadline(timeout));
    std::vector<unique_descriptor> all;
    for (int place = 0; place < size(); ++place) {
      auto& theirs = frames[static_cast<std::size_t>(place)];
      check_same_call(place, theirs, place == rank() || theirs.header.call != comm::gather_call::bytes,
                      "gathers descriptors");
      if (theirs.lost_descriptor) comm::throw_no_more_descriptors();
      all.push_back(place == rank() ? comm::copy_of(mine) : std::move(theirs.descriptor));
    }
    return comm::release_all(all);
  }

  std::shared_ptr<comm_backend> part_of(const rank_set& members, std::chrono::nanoseconds timeout) override {
    std::vector<int> ranks;
    for (const int place : comm::places_of(members, rank(), size())) ranks.push_back(name_of(place));
    return std::make_shared<socket_backend>(comm::form_part(members_->shared_mesh(), ranks, comm::deadline(timeout)));
  }

 private:
  /// Everybody sees what everybody has done: where two differ, all throw.
  void check_same_call(int place, const comm::frame& theirs, bool is_same, const std::string& what) const {
    if (is_same) return;
    const bool is_bytes = theirs.header.call == comm::gather_call::bytes;
    throw invalid_argument("comm backend: rank " + std::to_string(name_of(rank())) + " " + what + " and rank " +
                           std::to_string(name_of(place)) +
                           (is_bytes ? " " + std::to_string(theirs.body.size()) + " bytes" : " descriptors") +
                           ", must be as many as every other rank");
  }

  std::unique_ptr<comm::membership> members_;
};

std::shared_ptr<comm_backend> make_backend(comm::socket_domain& domain, const process_group& which) {
  if (which.timeout <= std::chrono::nanoseconds(0)) {
    throw invalid_argument("comm backend: timeout is " + std::to_string(which.timeout.count()) +
                           " ns, must be positive");
  }
  const comm::deadline until(which.timeout);
  unique_descriptor listener;
  comm::introductions made;
  if (which.size == 1) {  // whom no other rank looks for
    made.id = comm::new_group_id();
    made.streams.resize(1);
  } else if (which.rank == 0) {
    made = comm::receive_ranks(domain, which, until);
  } else {
    listener = domain.listen();
    made = comm::come_to_rank_0(domain, which, domain.address_of(listener.get()), until);
  }
  auto mesh = std::make_shared<comm::socket_mesh>(which.rank, which.size, made.id, domain.passes_descriptors());
  std::vector<int> ranks(static_cast<std::size_t>(which.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  // Before anything is read: what comes of a membership that nobody expects is dropped.
  auto whole = std::make_unique<comm::membership>(mesh, ranks, std::vector<std::uint64_t>(ranks.size(), 0));
  for (const int rank : ranks) {
    if (made.streams[static_cast<std::size_t>(rank)]) {
      mesh->add(rank, std::move(made.streams[static_cast<std::size_t>(rank)]));
    }
  }
  for (auto& next : made.early) mesh->arrive(0, std::move(next));
  if (which.rank != 0) comm::pair_up(domain, std::move(listener), made.addresses, *whole, until);
  (void)whole->exchange(comm::gather_call::bytes, {}, nullptr, until);
  return std::make_shared<socket_backend>(std::move(whole));
}

}  // namespace

std::shared_ptr<comm_backend> make_unix_socket_backend(const unix_rendezvous& where, const process_group& which) {
  comm::check_place(which.rank, which.size);
  return make_backend(*comm::make_unix_domain(where.name), which);
}

std::shared_ptr<comm_backend> make_tcp_backend(const tcp_rendezvous& where, const process_group& which) {
  comm::check_place(which.rank, which.size);
  return make_backend(*comm::make_tcp_domain(where.host, where.port, where.own_host), which);
}

}  // namespace switchyard
