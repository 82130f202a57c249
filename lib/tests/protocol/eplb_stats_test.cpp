// SPDX-License-Identifier: Apache-2.0
// Load statistics: what every rank has of all others after a dispatch is what these gave to that very dispatch.
#include <gtest/gtest.h>

#include <chrono>

#include "injection/injecting_host_fabric.hpp"
#include "support/eplb_stats_group.hpp"
#include "support/team_block.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::host_group;
using test::most_stats;
using test::on_every_rank;
using test::stats_group;

/// Integer i of what `rank` gives in `step`: any bits, and never what it gave before.
std::int32_t stat(int rank, int step, std::size_t i) {
  const auto mixed = (static_cast<std::uint32_t>(rank) * 131071U + static_cast<std::uint32_t>(step)) * 2654435761U;
  return static_cast<std::int32_t>(mixed + static_cast<std::uint32_t>(i) * 40503U);
}

/// What a rank brings to a step, and what it has been given.
struct stats_step {
  int step = 0;
  std::size_t length = most_stats;
  std::int64_t tokens_per_rank = 12;
  int num_tokens = 12;
  std::vector<std::int32_t> gathered = {};
  transport taken = transport::fence;
  const std::int32_t* view = nullptr;
};

/// Runs a step; the view is poison before the next dispatch.
void run_stats_step(host_group& group, int rank, stats_step& what) {
  auto& instance = group.instance(rank);
  auto& stream = group.stream(rank);
  test::aligned_bytes local(4 * what.length);
  for (std::size_t i = 0; i < what.length; ++i) local.as<std::int32_t>()[i] = stat(rank, what.step, i);
  test::token_batch batch(rank, instance.params(), test::spread_ids(group.ep_size(), what.num_tokens));
  const auto received =
      instance.dispatch(batch.inputs(), {what.tokens_per_rank, {local.as<const std::int32_t>(), what.length}}, stream);
  what.taken = received.transport;
  stream.enqueue([&] {
    const auto stats = received.eplb_gathered_stats;
    what.gathered.assign(stats.begin(), stats.end());
    what.view = stats.data();
    std::fill_n(const_cast<std::int32_t*>(stats.data()), stats.size(), 0x5A5A5A5A);
  });
  instance.combine(test::identity_experts(instance, received, stream), batch.output(), stream);
  stream.synchronize();
  if (instance.status()) throw peer_fault("rank " + std::to_string(rank), *instance.status());
}

/// Ranks that are not in `mask` have zeros.
void expect_stats(const stats_step& is, int ep_size, const rank_set& mask) {
  const auto where = "step " + std::to_string(is.step);
  ASSERT_EQ(is.gathered.size(), static_cast<std::size_t>(ep_size) * is.length) << where;
  for (int source = 0; source < ep_size; ++source) {
    for (std::size_t i = 0; i < is.length; ++i) {
      const auto due = contains(mask, source) ? stat(source, is.step, i) : 0;
      ASSERT_EQ(is.gathered[static_cast<std::size_t>(source) * is.length + i], due)
          << where << " of rank " << source << " number " << i;
    }
  }
}

transport taken_by(choice lamport) { return lamport == choice::off ? transport::fence : transport::lamport; }

class eplb_stats : public testing::TestWithParam<choice> {};

// Ranks without tokens, steps without any, other lengths, none, and first epochs that wrap.
TEST_P(eplb_stats, are_those_of_this_step_in_every_step) {
  for (const int workers : {1, 3}) {
    auto options = stats_group(4, GetParam());
    options.workers = workers;
    options.first_epoch = 0xFFFFFFFB;
    host_group group(options);
    on_every_rank(4, [&](int rank) {
      const std::int32_t* view = nullptr;
      for (int step = 0; step < 40; ++step) {
        stats_step what{step};
        const std::array<std::size_t, 4> lengths{most_stats, 5, 0, 1};
        what.length = lengths.at(static_cast<std::size_t>(step % 4));
        what.num_tokens = step % 5 == 4 ? 0 : (step + rank) % 3 * 6;
        run_stats_step(group, rank, what);
        expect_stats(what, 4, test::all_but(4, {}));
        EXPECT_EQ(what.taken, taken_by(GetParam())) << step;
        if (view == nullptr) view = what.view;
        EXPECT_EQ(what.view, view) << "the address depends on the layout alone";
      }
    });
  }
}

TEST_P(eplb_stats, do_not_depend_on_the_transport_of_the_step_before) {
  auto options = stats_group(3, choice::automatic);
  options.config.lamport_max_tokens = 16;
  options.workers = 3;
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    for (int step = 0; step < 30; ++step) {
      stats_step what{step};
      const bool few = (step / (GetParam() == choice::off ? 1 : 2)) % 2 == 0;
      what.tokens_per_rank = few ? 12 : 40;
      run_stats_step(group, rank, what);
      expect_stats(what, 3, test::all_but(3, {}));
      EXPECT_EQ(what.taken, few ? transport::lamport : transport::fence) << step;
    }
  });
}

TEST_P(eplb_stats, of_a_late_rank_are_waited_for) {
  auto options = stats_group(3, GetParam());
  const auto late = std::make_shared<injection::injector>(injection::mutation{.op = injection::operation::post,
                                                                              .what = injection::effect::delay,
                                                                              .amount = 200,
                                                                              .region = layout::region::eplb_inbox,
                                                                              .rank = 1});
  options.make_fabric = [&](int) { return injection::make_injecting_host_fabric(late); };
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    for (int step = 0; step < 4; ++step) {
      stats_step what{step};
      run_stats_step(group, rank, what);
      expect_stats(what, 3, test::all_but(3, {}));
    }
  });
  EXPECT_EQ(late->matches(), 4 * 3 * most_stats);
}

// The mutant: were tags not looked at, the words of the step before would pass for those of this one.
TEST_P(eplb_stats, without_their_tags_would_be_those_of_an_earlier_step) {
  auto options = stats_group(2, GetParam());
  options.workers = 3;  // rows and headers are sent beside the late words
  const auto late = std::make_shared<injection::injector>(injection::mutation{.op = injection::operation::post,
                                                                              .what = injection::effect::delay,
                                                                              .amount = 1000,
                                                                              .region = layout::region::eplb_inbox,
                                                                              .rank = 1});
  const auto any_tag = std::make_shared<injection::injector>(injection::mutation{
      .op = injection::operation::poll, .what = injection::effect::retag, .region = layout::region::eplb_inbox});
  options.make_fabric = [&](int) { return injection::make_injecting_host_fabric(late, any_tag); };
  // Whether a step ends before the late words come is a race, which a busy machine may lose now and then.
  int stale = 0;
  for (int attempt = 0; attempt < 20 && stale == 0; ++attempt) {
    host_group group(options);
    on_every_rank(2, [&](int rank) {
      for (int step = 0; step < 3; ++step) {
        stats_step what{step};
        run_stats_step(group, rank, what);
        for (std::size_t i = 0; rank == 0 && i < most_stats; ++i) {
          if (what.gathered[most_stats + i] == stat(1, step - 1, i)) ++stale;
        }
      }
    });
  }
  EXPECT_GT(stale, 0);
}

TEST_P(eplb_stats, of_a_rank_that_is_masked_off_are_zero) {
  auto options = stats_group(4, GetParam());
  options.config.enable_rank_mask = true;
  host_group group(options);
  auto backends = make_in_process_backends(4);
  const auto mask = test::all_but(4, {2});
  on_every_rank(4, [&](int rank) {
    stats_step first{0};
    run_stats_step(group, rank, first);
    expect_stats(first, 4, test::all_but(4, {}));
    if (rank != 2) {
      group.instance(rank).set_active_ranks(mask, group.stream(rank));
      for (int step = 1; step < 5; ++step) {
        stats_step what{step, step == 2 ? std::size_t{3} : most_stats};
        run_stats_step(group, rank, what);
        expect_stats(what, 4, mask);
      }
    }
    group.instance(rank).recover(*backends[static_cast<std::size_t>(rank)], test::all_but(4, {}));
    stats_step last{6};
    run_stats_step(group, rank, last);
    expect_stats(last, 4, test::all_but(4, {}));
  });
}

TEST_P(eplb_stats, of_different_lengths_are_a_step_mismatch) {
  for (const auto& [mine, theirs] : {std::pair<std::size_t, std::size_t>{37, 36}, {0, 1}, {8, 0}}) {
    host_group group(stats_group(2, GetParam()));
    on_every_rank(2, [&, mine = mine, theirs = theirs](int rank) {
      stats_step before{0};
      run_stats_step(group, rank, before);
      auto& instance = group.instance(rank);
      const auto length = rank == 0 ? mine : theirs;
      test::aligned_bytes local(4 * length, 0x11);
      test::token_batch batch(rank, instance.params(), test::spread_ids(2, 9));
      const auto received =
          instance.dispatch(batch.inputs(), {12, {local.as<const std::int32_t>(), length}}, group.stream(rank));
      group.stream(rank).synchronize();
      const auto fault = instance.status();
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->code, fault_code::step_mismatch);
      EXPECT_EQ(fault->field, step_field::eplb_stats_length) << to_string(fault->field);
      EXPECT_EQ(fault->rank, 1 - rank);
      EXPECT_EQ(fault->expected, length);
      EXPECT_EQ(fault->actual, rank == 0 ? theirs : mine);
      for (const auto each : received.eplb_gathered_stats) EXPECT_EQ(each, 0) << "a failed dispatch leaves zeros";
    });
  }
}

// One block too: a clerk that is a worker besides.
TEST_P(eplb_stats, are_gathered_by_teams_of_several_threads) {
  for (const int workers : {1, 2}) {
    auto options = stats_group(3, GetParam());
    options.config.timeout = options.config.warmup_timeout = 40s;
    options.workers = workers;
    const auto teams = test::make_team_fabric();
    options.make_fabric = [teams](int) { return teams; };
    host_group group(options);
    on_every_rank(3, [&](int rank) {
      for (int step = 0; step < 4; ++step) {
        stats_step what{step, step == 1 ? std::size_t{3} : most_stats};
        what.num_tokens = step == 2 ? 0 : 9;
        run_stats_step(group, rank, what);
        expect_stats(what, 3, test::all_but(3, {}));
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(by, eplb_stats, testing::ValuesIn(test::both_transports),
                         [](const auto& by) { return std::string(by.param == choice::off ? "fence" : "lamport"); });

TEST(eplb_stats_rules, are_kept_before_anything_is_enqueued) {
  auto options = stats_group(2, choice::automatic);
  host_group group(options);
  auto& instance = group.instance(0);
  test::token_batch batch(0, options.params, {});
  test::aligned_bytes local(4 * (most_stats + 1));
  const auto* data = local.as<const std::int32_t>();
  const auto with = [&](const std::int32_t* at, std::size_t length) {
    return [&, at, length] { (void)instance.dispatch(batch.inputs(), {12, {at, length}}, group.stream(0)); };
  };
  const auto message_of = [](const auto& call) {
    try {
      call();
    } catch (const invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("no invalid_argument");
  };
  EXPECT_NE(message_of(with(data, most_stats + 1)).find("eplb_local_stats.size() is 38, must be 0 .. 37"),
            std::string::npos);
  EXPECT_NE(message_of(with(nullptr, 3)).find("eplb_local_stats.data() is null"), std::string::npos);
  EXPECT_NE(message_of(with(data + 1, 3)).find("is 4 bytes past a multiple of 16"), std::string::npos);
  const auto* inside = reinterpret_cast<const std::int32_t*>(instance.workspace_data());
  EXPECT_NE(message_of(with(inside, 3)).find("eplb_local_stats lies in the workspace"), std::string::npos);
  EXPECT_FALSE(instance.status());

  options.config.eplb_stats_num_experts = 65;
  EXPECT_THROW((void)workspace_bytes(options.params, options.config, 2), invalid_argument);
  options.config.eplb_stats_num_experts = -1;
  EXPECT_THROW((void)workspace_bytes(options.params, options.config, 2), invalid_argument);
  options.config.eplb_stats_num_experts = 64;
  const auto with_room = workspace_bytes(options.params, options.config, 2);
  options.config.eplb_stats_num_experts = 0;
  EXPECT_EQ(with_room - workspace_bytes(options.params, options.config, 2), 2 * 64 * 12);
}

TEST(eplb_stats_rules, capacity_is_agreed_on) {
  const auto backends = make_in_process_backends(2);
  std::array<std::string, 2> told;
  on_every_rank(2, [&](int rank) {
    auto options = stats_group(2, choice::automatic);
    options.config.eplb_stats_num_experts = 30 + rank;
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = 2;
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    try {
      const one_sided_all_to_all instance(boot, options.params, options.config);
    } catch (const invalid_argument& e) {
      told.at(static_cast<std::size_t>(rank)) = e.what();
    }
  });
  for (const auto& message : told) {
    EXPECT_NE(message.find("eplb_stats_num_experts is 31 on rank 1 and 30 on rank 0"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace switchyard
