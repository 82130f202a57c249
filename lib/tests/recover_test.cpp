// SPDX-License-Identifier: Apache-2.0
// After recover() every step is exact again, whatever went wrong before, and as often as one likes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>

#include "injection/capturing_host_fabric.hpp"
#include "layout/rank_mask.hpp"
#include "layout/round_state.hpp"
#include "support/masked_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;

constexpr int ranks = 3;
const std::vector<std::vector<std::int32_t>> some_ids{{0, 7}, {3, 4}, {5, 2}};

test::group_options small_group(choice lamport = choice::automatic) {
  test::group_options options;
  options.ep_size = ranks;
  options.params = {.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 70, .hidden_size = 8};
  options.config.timeout = 200ms;
  options.config.warmup_timeout = 5s;
  options.config.lamport = lamport;
  return options;
}

/// A group, and backends with which it can meet again and again.
struct recovering_group {
  explicit recovering_group(const test::group_options& how)
      : options(how), group(how), backends(make_in_process_backends(how.ep_size)) {}

  void recover(int rank) {
    group.instance(rank).recover(*backends[static_cast<std::size_t>(rank)], layout::all_ranks(options.ep_size));
  }
  /// Each token comes back from each of its ranks as it was: identity experts, so the sum is as often the row.
  void expect_exact_step(int rank, std::int64_t tokens_per_rank = 70) {
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    test::token_batch batch(rank, options.params, some_ids);
    dispatch_options chosen;
    chosen.runtime_max_tokens_per_rank = tokens_per_rank;
    const auto received = instance.dispatch(batch.inputs(), chosen, stream);
    stream.synchronize();
    ASSERT_FALSE(instance.status()) << "rank " << rank;
    std::int64_t rows = 0;
    for (const auto count : received.recv_counts) rows += count;
    EXPECT_GT(rows, 0);
    instance.combine(test::identity_experts(instance, received, stream), batch.output(), stream);
    stream.synchronize();
    ASSERT_FALSE(instance.status()) << "rank " << rank;
    constexpr std::array<int, 3> copies{2, 1, 2};  // of 8 experts on 3 ranks, by some_ids
    for (std::size_t token = 0; token < copies.size(); ++token) {
      for (int h = 0; h < 8; ++h) {
        const auto row = (16 * rank + static_cast<int>(token)) % 64 + h % 2;
        ASSERT_EQ(batch.output_row(token)[h], test::token_batch::bits_of(static_cast<float>(copies.at(token) * row)))
            << "rank " << rank << " token " << token << " element " << h;
      }
    }
  }

  test::group_options options;
  test::host_group group;
  std::vector<std::shared_ptr<comm_backend>> backends;
};

TEST(recover, makes_the_next_step_exact_after_a_timeout) {
  recovering_group group(small_group());
  test::on_every_rank(ranks, [&](int rank) {
    group.expect_exact_step(rank);
    if (rank != 1) {
      test::token_batch batch(rank, group.options.params, some_ids);
      (void)test::enqueue_step(group.group, rank, batch);
      group.group.stream(rank).synchronize();
      ASSERT_TRUE(group.group.instance(rank).status());
    }
    group.recover(rank);
    EXPECT_FALSE(group.group.instance(rank).status());
    for (int step = 0; step < 3; ++step) group.expect_exact_step(rank);
  });
}

TEST(recover, frees_peers_that_wait_in_a_launch) {
  auto options = small_group();
  options.config.timeout = options.config.warmup_timeout = 60s;
  recovering_group group(options);
  const auto begin = std::chrono::steady_clock::now();
  test::on_every_rank(ranks, [&](int rank) {
    test::token_batch batch(rank, options.params, some_ids);
    if (rank != 2) (void)test::enqueue_step(group.group, rank, batch);  // and does not wait for it
    group.recover(rank);
    group.expect_exact_step(rank);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST(recover, ends_a_step_that_had_no_combine) {
  recovering_group group(small_group());
  test::on_every_rank(ranks, [&](int rank) {
    test::token_batch batch(rank, group.options.params, some_ids);
    (void)group.group.instance(rank).dispatch(batch.inputs(), {}, group.group.stream(rank));
    group.recover(rank);
    group.expect_exact_step(rank);
  });
}

TEST(recover, starts_two_epochs_past_the_furthest_rank_in_another_incarnation) {
  auto options = small_group();
  options.first_epoch = 0xFFFFFFFD;
  recovering_group group(options);
  test::on_every_rank(ranks, [&](int rank) {
    group.expect_exact_step(rank);  // epochs FFFFFFFD and FFFFFFFE
    group.recover(rank);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const auto* round = reinterpret_cast<const layout::round_state*>(group.group.instance(rank).workspace_data());
    EXPECT_EQ(round->epoch, 2U) << "FFFFFFFF, and 0 is skipped";
    EXPECT_EQ(round->incarnation, 2U);
    EXPECT_EQ(round->phase_due, static_cast<std::uint32_t>(phase::dispatch));
  }
}

TEST(recover, names_the_ranks_that_do_not_come) {
  auto options = small_group();
  options.config.warmup_timeout = 300ms;
  recovering_group group(options);
  std::array<std::chrono::nanoseconds, ranks> took{};
  test::on_every_rank(ranks, [&](int rank) {
    if (rank == 2) return;
    const auto begin = std::chrono::steady_clock::now();
    try {
      group.recover(rank);
      ADD_FAILURE() << "rank " << rank << " recovered without rank 2";
    } catch (const peer_fault& e) {
      EXPECT_NE(std::string(e.what()).find("rank(s) 2 did not come within "), std::string::npos) << e.what();
      EXPECT_EQ(e.record().missing, test::all_but(ranks, {0, 1}));
      EXPECT_GT(e.record().timeout_ns, 0U);
      EXPECT_LE(e.record().timeout_ns, 300'000'000U) << "what was left of the warm-up timeout";
    }
    took.at(static_cast<std::size_t>(rank)) = std::chrono::steady_clock::now() - begin;
    // It stays as it was left: poisoned.
    test::token_batch batch(rank, options.params, some_ids);
    EXPECT_THROW(group.group.instance(rank).dispatch(batch.inputs(), {}, group.group.stream(rank)), peer_fault);
  });
  // The first to run out of patience speaks for both; it has waited for as long as it was told.
  EXPECT_GE(std::max(took[0], took[1]), 300ms);
  EXPECT_LT(std::max(took[0], took[1]), 5s);
}

TEST(recover, takes_all_ranks_or_says_why_not) {
  recovering_group group(small_group());
  auto& instance = group.group.instance(1);
  rank_set without_2{};
  insert(without_2, 0);
  insert(without_2, 1);
  EXPECT_THROW(instance.recover(*group.backends[1], without_2), unsupported);
  auto too_many = layout::all_ranks(ranks + 1);
  EXPECT_THROW(instance.recover(*group.backends[1], too_many), invalid_argument);
  rank_set without_itself{};
  insert(without_itself, 0);
  EXPECT_THROW(instance.recover(*group.backends[1], without_itself), invalid_argument);
  EXPECT_THROW(instance.recover(*group.backends[0], layout::all_ranks(ranks)), invalid_argument)
      << "another rank's backend";
  EXPECT_FALSE(instance.status()) << "a refused call changes nothing";
}

/// As where the device of a rank is lost: its abort fails.
class lost_workspace final : public injection::capturing_workspace {
 public:
  using capturing_workspace::capturing_workspace;
  void abort() override { throw cuda_error("launching: the device is lost"); }
};

class losing_fabric final : public injection::capturing_host_fabric {
 public:
  losing_fabric() : capturing_host_fabric(std::make_shared<injection::launch_recorder>()) {}
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::make_unique<lost_workspace>(host::make_host_fabric()->open(request),
                                            std::make_shared<injection::launch_recorder>());
  }
};

TEST(recover, names_a_rank_that_cannot_before_the_deadline) {
  auto options = small_group();
  options.config.warmup_timeout = 60s;
  options.make_fabric = [](int rank) -> std::shared_ptr<fabric> {
    if (rank == 1) return std::make_shared<losing_fabric>();
    return host::make_host_fabric();
  };
  recovering_group group(options);
  const auto begin = std::chrono::steady_clock::now();
  test::on_every_rank(ranks, [&](int rank) {
    try {
      group.recover(rank);
      ADD_FAILURE() << "rank " << rank << " recovered with one that is lost";
    } catch (const peer_fault& e) {
      EXPECT_EQ(std::string(e.what()), "recover: rank(s) 1 cannot; rank 1: launching: the device is lost");
      EXPECT_EQ(e.record().missing, test::all_but(ranks, {0, 2}));
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Faults one after another, of all kinds, drawn; each time the group recovers, and what comes behind is exact.
class fault_sequence : public testing::TestWithParam<choice> {};

TEST_P(fault_sequence, never_leaves_a_trace) {
  constexpr int rounds = 500;
  auto options = small_group(GetParam());
  options.config.timeout = 10ms;  // of the step that fails; the one before has the warm-up deadline
  recovering_group group(options);
  const auto descriptors = open_descriptors();
  test::on_every_rank(ranks, [&](int rank) {
    std::mt19937 random(7);  // the same sequence on every rank
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      const auto kind = random() % 5;
      const auto erring = static_cast<int>(random() % ranks);
      const bool waits_for_records = random() % 2 == 0;  // else whoever recovers first frees the others
      // The first step after a recovery has the warm-up deadline, for which nobody is to wait here.
      const bool has_good_step = random() % 2 == 0 || waits_for_records;
      const auto tokens_per_rank = static_cast<std::int64_t>(3 + random() % 68);
      auto& instance = group.group.instance(rank);
      auto& stream = group.group.stream(rank);
      const auto* workspace = instance.workspace_data();
      if (has_good_step) {
        group.expect_exact_step(rank, tokens_per_rank);
        // Who stays away next goes on to recover, which ends what others are still doing.
        group.backends[static_cast<std::size_t>(rank)]->barrier(10s);
      }
      test::token_batch batch(rank, options.params, some_ids);
      dispatch_options chosen;
      chosen.runtime_max_tokens_per_rank = kind == 0 && rank == erring ? 69 : 70;
      const bool stays_away = kind == 1 && rank == erring;
      if (!stays_away) {
        const auto received = instance.dispatch(batch.inputs(), chosen, stream);
        if (kind == 2 && rank == erring) instance.abort("drawn");
        const bool no_combine = kind == 3 && rank == erring;
        if (!no_combine && !instance.status()) {
          try {
            auto experts = test::identity_experts(instance, received, stream);
            // Not of another width: two owners would store rows over one another, which nobody reads, but it is a race.
            if (kind == 4 && rank == erring) experts.dtype = dtype::fp16;
            instance.combine(experts, batch.output(), stream);
          } catch (const peer_fault&) {
            // Its dispatch has failed in the meantime.
          }
        }
      }
      stream.synchronize();
      if (waits_for_records) group.backends[static_cast<std::size_t>(rank)]->barrier(10s);
      group.recover(rank);
      ASSERT_FALSE(instance.status());
      ASSERT_EQ(instance.workspace_data(), workspace);
    }
    group.expect_exact_step(rank);
  });
  EXPECT_EQ(open_descriptors(), descriptors);
}

INSTANTIATE_TEST_SUITE_P(transports, fault_sequence, testing::Values(choice::off, choice::on),
                         [](const auto& one) { return std::string(one.param == choice::on ? "lamport" : "fence"); });

}  // namespace
}  // namespace switchyard
