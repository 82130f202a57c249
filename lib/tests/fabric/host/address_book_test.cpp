// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/address_book.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "fabric/process_identity.hpp"
#include "support/host_group.hpp"

namespace switchyard::host {
namespace {

using std::chrono::seconds;

/// A backend that goes wrong for one rank in a chosen way.
class crooked_backend final : public comm_backend {
 public:
  /// `odd_byte`, from 0 on: of what this rank says of itself; none: nothing is wrong.
  crooked_backend(std::shared_ptr<comm_backend> inner, bool breaks_barrier, std::optional<std::size_t> odd_byte)
      : inner_(std::move(inner)), breaks_barrier_(breaks_barrier), odd_byte_(odd_byte) {}
  [[nodiscard]] int rank() const noexcept override { return inner_->rank(); }
  [[nodiscard]] int size() const noexcept override { return inner_->size(); }
  [[nodiscard]] switchyard::group_id group_id() const noexcept override { return inner_->group_id(); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) override {
    std::vector<std::byte> sent(mine.begin(), mine.end());
    if (odd_byte_) sent.at(*odd_byte_) ^= std::byte{1};
    inner_->allgather(sent, all, timeout);
  }
  void barrier(std::chrono::nanoseconds timeout) override {
    inner_->barrier(timeout);
    if (breaks_barrier_) throw peer_fault("barrier gave up late", {});
  }

 private:
  std::shared_ptr<comm_backend> inner_;
  bool breaks_barrier_;
  std::optional<std::size_t> odd_byte_;
};

TEST(exchange_addresses, gives_every_rank_what_each_gave) {
  const auto backends = make_in_process_backends(4);
  test::on_every_rank(4, [&](int rank) {
    for (int round = 0; round < 50; ++round) {
      const auto all = exchange_addresses(*backends[static_cast<std::size_t>(rank)],
                                          std::make_shared<int>(100 * round + rank), seconds(20));
      ASSERT_EQ(all.size(), 4U);
      for (int peer = 0; peer < 4; ++peer) {
        ASSERT_EQ(*static_cast<int*>(all[static_cast<std::size_t>(peer)].get()), 100 * round + peer);
      }
    }
  });
}

TEST(exchange_addresses, a_rank_that_gives_up_takes_nothing_away) {
  const auto backends = make_in_process_backends(2);
  test::on_every_rank(2, [&](int rank) {
    crooked_backend backend(backends[static_cast<std::size_t>(rank)], rank == 1, std::nullopt);
    if (rank == 1) {
      EXPECT_THROW(exchange_addresses(backend, std::make_shared<int>(1), seconds(20)), peer_fault);
      return;
    }
    const auto all = exchange_addresses(backend, std::make_shared<int>(0), seconds(20));
    EXPECT_EQ(*static_cast<int*>(all[1].get()), 1);
  });
}

TEST(exchange_addresses, ranks_in_other_processes_are_refused_on_all) {
  // Another number of the system's, or the same one in another container, which has drawn another.
  for (const auto odd : {offsetof(process_identity, process), offsetof(process_identity, drawn)}) {
    const auto backends = make_in_process_backends(3);
    test::on_every_rank(3, [&](int rank) {
      crooked_backend backend(backends[static_cast<std::size_t>(rank)], false,
                              rank == 2 ? std::optional(odd) : std::nullopt);
      try {
        (void)exchange_addresses(backend, std::make_shared<int>(rank), seconds(20));
        ADD_FAILURE() << "rank " << rank << " took an address of another process";
      } catch (const unsupported& e) {
        EXPECT_NE(std::string(e.what()).find("rank 2"), std::string::npos) << e.what();
      }
    });
  }
}

}  // namespace
}  // namespace switchyard::host
