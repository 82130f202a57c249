// SPDX-License-Identifier: Apache-2.0
// On the host fabric: a rank that is at the end of its recover() while the others recover once more without it, and
// poison it from outside. Whichever comes first, it ends aborted, and the others' new life is exact.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "support/survivors.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::group_of_survivors;
using test::how;
using test::on_every_rank;
using test::spread_ids;

/// A rank's backend, after each barrier of whose parts something of the test's own goes on: recover() opens behind its
/// only one.
class backend_with_a_pause final : public comm_backend {
 public:
  using pause = std::function<void()>;
  backend_with_a_pause(std::shared_ptr<comm_backend> inner, pause after_barrier, bool is_part = false)
      : inner_(std::move(inner)), after_barrier_(std::move(after_barrier)), is_part_(is_part) {}

  [[nodiscard]] int rank() const noexcept override { return inner_->rank(); }
  [[nodiscard]] int size() const noexcept override { return inner_->size(); }
  [[nodiscard]] switchyard::group_id group_id() const noexcept override { return inner_->group_id(); }
  [[nodiscard]] int name_of(int place) const noexcept override { return inner_->name_of(place); }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) override {
    inner_->allgather(mine, all, timeout);
  }
  void barrier(std::chrono::nanoseconds timeout) override {
    inner_->barrier(timeout);
    if (is_part_) after_barrier_();
  }
  std::shared_ptr<comm_backend> part_of(const rank_set& members, std::chrono::nanoseconds timeout) override {
    return std::make_shared<backend_with_a_pause>(inner_->part_of(members, timeout), after_barrier_, true);
  }

 private:
  std::shared_ptr<comm_backend> inner_;
  pause after_barrier_;
  bool is_part_;
};

enum class opening_order : std::uint8_t { poisoned_first, opened_first, by_chance };

constexpr int late_rank = 2;

/// A group of three that all recover, and of which two do so again while the third is about to open.
class races_with_open_again {
 public:
  explicit races_with_open_again(const how& way) : all_(test::options_of_survivors(way, 3, 20s)) {
    auto& backend = all_.backends[late_rank];
    backend = std::make_shared<backend_with_a_pause>(backend, [this] { wait_before_opening(); });
  }

  void run(int rounds) {
    on_every_rank(3, [&](int rank) {
      for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
        meet(rank);
        if (rank == 0) prepare(round);
        meet(rank);
        rank == late_rank ? be_left_out(round) : leave_it_out(rank);
      }
      meet(rank);
      if (rank == 0) order_ = opening_order::opened_first;  // nothing holds the late one
      meet(rank);
      all_.recover(rank, all_but(3, {}));
      all_.expect_exact_steps(rank, all_but(3, {}), 5);
    });
  }

 private:
  static void pause_us(std::uint32_t microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  }
  void meet(int rank) { all_.backends[static_cast<std::size_t>(rank)]->barrier(60s); }

  void prepare(int round) {
    constexpr std::array orders{opening_order::poisoned_first, opening_order::opened_first, opening_order::by_chance,
                                opening_order::by_chance};
    order_ = orders[static_cast<std::size_t>(round) % orders.size()];
    late_us_ = static_cast<std::uint32_t>(random_() % 400);
    others_us_ = static_cast<std::uint32_t>(random_() % 200);
    have_recovered_ = 0;
    is_open_ = false;
  }

  void wait_before_opening() {
    if (order_ == opening_order::by_chance) pause_us(late_us_);
    while (order_ == opening_order::poisoned_first && have_recovered_ < 2) std::this_thread::yield();
  }

  void be_left_out(int round) {
    all_.recover(late_rank, all_but(3, {}));
    is_open_ = true;
    auto& instance = all_.group.instance(late_rank);
    if (round % 3 == 0) try_a_step();
    meet(late_rank);  // the others have recovered
    all_.group.stream(late_rank).synchronize();
    const auto record = instance.status();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->code, fault_code::aborted);
    EXPECT_EQ(record->from_notice, 1);
    EXPECT_TRUE(record->origin == 0 || record->origin == 1) << record->origin;
    EXPECT_EQ(std::atomic_ref(const_cast<std::uint32_t&>(all_.round(late_rank).poison)).load(), 1U);
    test::token_batch batch(late_rank, instance.params(), spread_ids(3, 20));
    EXPECT_THROW((void)instance.dispatch(batch.inputs(), {}, all_.group.stream(late_rank)), peer_fault);
  }

  /// Of the life that is about to end, or has ended.
  void try_a_step() {
    batches_.push_back(
        std::make_unique<test::token_batch>(late_rank, all_.group.instance(late_rank).params(), spread_ids(3, 20)));
    try {
      (void)test::enqueue_step(all_.group, late_rank, *batches_.back());
    } catch (const peer_fault&) {  // it was poisoned already
    }
  }

  void leave_it_out(int rank) {
    const auto pair = all_but(3, {late_rank});
    all_.recover(rank, all_but(3, {}));
    while (order_ == opening_order::opened_first && !is_open_) std::this_thread::yield();
    if (order_ == opening_order::by_chance) pause_us(others_us_);
    all_.recover(rank, pair);
    EXPECT_FALSE(all_.group.instance(rank).status());
    all_.expect_exact_steps(rank, pair, 1);
    ++have_recovered_;
    all_.expect_exact_steps(rank, pair, 2);  // while the late one opens
    meet(rank);
    all_.expect_exact_steps(rank, pair, 2);  // while it finds itself poisoned
    EXPECT_FALSE(all_.group.instance(rank).status());
  }

  group_of_survivors all_;
  std::mt19937 random_{5};
  // Written by rank 0 between two meetings of all.
  opening_order order_ = opening_order::by_chance;
  std::uint32_t late_us_ = 0;
  std::uint32_t others_us_ = 0;
  std::atomic<int> have_recovered_{0};
  std::atomic<bool> is_open_{false};
  std::vector<std::unique_ptr<test::token_batch>> batches_;  // of the late one's launches, by its thread
};

class open_again : public testing::TestWithParam<how> {};

TEST_P(open_again, of_a_rank_that_others_leave_out_meanwhile_ends_poisoned) {
  races_with_open_again races(GetParam());
  races.run(60);
}

INSTANTIATE_TEST_SUITE_P(by, open_again,
                         testing::Values(how{choice::off, 1}, how{choice::off, 3}, how{choice::on, 1},
                                         how{choice::on, 3}),
                         [](const auto& by) { return by.param.name(); });

}  // namespace
}  // namespace switchyard
