// SPDX-License-Identifier: Apache-2.0
// Checkpoints of which a part fails: what may be tried again, and what is lost for good.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "fabric/collective_step.hpp"
#include "injection/recovery_decorator.hpp"
#include "support/checkpointed.hpp"

namespace switchyard {
namespace {

using test::layer_config;
using test::layer_params;
using test::resident_pages;
using test::state_error_of;

/// What a driver may refuse, once.
struct refusal {
  std::atomic<bool> of_release{false};
  std::atomic<bool> of_restart{false};
  std::atomic<bool> of_opening{false};
};

class refusing_workspace final : public injection::recovery_decorator {
 public:
  refusing_workspace(std::unique_ptr<fabric_workspace> right, std::shared_ptr<refusal> refused)
      : recovery_decorator(std::move(right)), refused_(std::move(refused)) {}

 private:
  void release_memory() override {
    if (refused_->of_release.exchange(false)) throw cuda_error("workspace: taking memory away: refused");
    recovery_decorator::release_memory();
  }
  void restart(const fresh_start& start, const rank_meeting& meeting) override {
    if (!refused_->of_restart.exchange(false)) return recovery_decorator::restart(start, meeting);
    // In the place of the first thing that the right one does with the others.
    (void)collective_step<nothing>(meeting, []() -> nothing { throw out_of_memory("workspace: no memory"); });
  }
  void open_again(std::chrono::nanoseconds timeout) override {
    if (refused_->of_opening.exchange(false)) throw cuda_error("workspace: ending the fault: refused");
    recovery_decorator::open_again(timeout);
  }

  std::shared_ptr<refusal> refused_;
};
using refusing_fabric = injection::decorated_host_fabric<refusing_workspace, std::shared_ptr<refusal>>;

/// A group whose rank 1 refuses what it is told to.
struct refusing_group : test::layered_group {
  refusing_group() : layered_group(2) {
    test::on_every_rank(2, [&](int rank) {
      add(rank, layer_params(), layer_config(),
          std::make_shared<refusing_fabric>(rank == 1 ? refused : std::make_shared<refusal>()));
    });
  }
  std::shared_ptr<refusal> refused = std::make_shared<refusal>();
};

TEST(checkpoint_failure, is_lost_for_good_where_memory_cannot_be_taken_away) {
  refusing_group group;
  group.refused->of_release = true;
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    const std::string why =
        "checkpoint_prepare: the workspace is lost for good: checkpoint_prepare: rank 1: workspace: taking memory "
        "away: refused";
    try {
      instance.checkpoint_prepare();
      ADD_FAILURE() << "rank " << rank;
    } catch (const cuda_error& e) {
      EXPECT_EQ(std::string(e.what()), why);
    }
    const auto refusal = state_error_of([&] { instance.abort("a test"); });
    EXPECT_EQ(refusal, "abort: the workspace is lost for good, destroy() its instances: " + why);
    EXPECT_THROW(instance.checkpoint_prepare(), state_error);
    EXPECT_THROW(instance.checkpoint_restore(group.backends[static_cast<std::size_t>(rank)]), state_error);
    instance.destroy();
  });
}

TEST(checkpoint_failure, may_be_restored_by_another_attempt_where_memory_lacked) {
  refusing_group group;
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    test::layer_exchange(instance, group.stream(rank), {0, 8, 128}).run();
    instance.checkpoint_prepare();
    if (rank == 1) group.refused->of_restart = true;
    const auto backend = group.backends[static_cast<std::size_t>(rank)];
    EXPECT_THROW(instance.checkpoint_restore(backend), out_of_memory);
    EXPECT_EQ(resident_pages(instance, layer_config()), 0U) << "what had come back is gone again";
    instance.checkpoint_restore(backend);
    test::layer_exchange(instance, group.stream(rank), {1, 8, 128}).run();
  });
}

TEST(checkpoint_failure, is_lost_for_good_where_it_cannot_be_opened) {
  refusing_group group;
  test::on_every_rank(2, [&](int rank) {
    auto& instance = group.layer(rank, 0);
    instance.checkpoint_prepare();
    if (rank == 1) group.refused->of_opening = true;
    const auto backend = group.backends[static_cast<std::size_t>(rank)];
    if (rank == 1) {
      EXPECT_THROW(instance.checkpoint_restore(backend), cuda_error);
      EXPECT_THROW(instance.checkpoint_restore(backend), state_error);
    } else {
      instance.checkpoint_restore(backend);
    }
  });
}

}  // namespace
}  // namespace switchyard
