// SPDX-License-Identifier: Apache-2.0
// Load statistics that do not come: who is missed, and what the record says was awaited.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "injection/injecting_host_fabric.hpp"
#include "support/eplb_stats_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::host_group;
using test::most_stats;
using test::on_every_rank;
using test::stats_group;

class eplb_stats_fault : public testing::TestWithParam<choice> {};

/// What `rank` has recorded after a dispatch in which all give the same statistics; one that failed leaves zeros.
std::optional<recorded_fault> fault_of_dispatch(host_group& group, int rank) {
  auto& instance = group.instance(rank);
  test::aligned_bytes local(4 * most_stats, 0x11);
  test::token_batch batch(rank, instance.params(), test::spread_ids(group.ep_size(), 9));
  const auto received =
      instance.dispatch(batch.inputs(), {12, {local.as<const std::int32_t>(), most_stats}}, group.stream(rank));
  group.stream(rank).synchronize();
  const auto fault = instance.status();
  for (const auto each : received.eplb_gathered_stats) EXPECT_EQ(each, fault ? 0 : 0x11111111) << "rank " << rank;
  return fault;
}

// Those of both are missed, whichever of them the wait that expired was for; the others' of the same dispatch, and all
// that the two sent besides, is not.
TEST_P(eplb_stats_fault, that_never_come_are_missed_by_name) {
  for (const int workers : {1, 3}) {
    auto options = stats_group(4, GetParam());
    options.config.timeout = options.config.warmup_timeout = 300ms;
    options.workers = workers;
    const auto lost_of = [](int source) {
      return std::make_shared<injection::injector>(injection::mutation{.op = injection::operation::post,
                                                                       .what = injection::effect::drop,
                                                                       .region = layout::region::eplb_inbox,
                                                                       .rank = source,
                                                                       .peer = 0});
    };
    const auto lost_of_1 = lost_of(1);
    const auto lost_of_3 = lost_of(3);
    options.make_fabric = [&](int rank) {
      return injection::make_injecting_host_fabric(rank == 1 ? lost_of_1 : lost_of_3);
    };
    host_group group(options);
    on_every_rank(4, [&](int rank) {
      const auto fault = fault_of_dispatch(group, rank);
      if (rank != 0) return;  // the others' dispatches may have ended before they could be told
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->code, fault_code::timeout);
      EXPECT_EQ(fault->awaited, awaited::statistics);
      EXPECT_TRUE(fault->rank == 1 || fault->rank == 3) << fault->rank;
      EXPECT_EQ(fault->missing, test::all_but(4, {0, 2}));
    });
    EXPECT_EQ(lost_of_1->matches(), most_stats);
    EXPECT_EQ(lost_of_3->matches(), most_stats);
  }
}

// Statistics that are lost beside a header that is late: the wait for the header expires, and both sources are missed.
TEST_P(eplb_stats_fault, that_are_lost_are_missed_beside_a_late_header) {
  auto options = stats_group(4, GetParam());
  options.config.timeout = options.config.warmup_timeout = 300ms;
  const auto lost = [](layout::region region, int source) {
    return std::make_shared<injection::injector>(injection::mutation{.op = injection::operation::post,
                                                                     .what = injection::effect::drop,
                                                                     .region = region,
                                                                     .rank = source,
                                                                     .peer = 0});
  };
  const auto statistics = lost(layout::region::eplb_inbox, 1);
  const auto header = lost(layout::region::headers, 3);
  options.make_fabric = [&](int rank) {
    return injection::make_injecting_host_fabric(rank == 1 ? statistics : header);
  };
  host_group group(options);
  on_every_rank(4, [&](int rank) {
    const auto fault = fault_of_dispatch(group, rank);
    if (rank != 0) return;
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->awaited, awaited::header);
    EXPECT_EQ(fault->rank, 3);
    EXPECT_EQ(fault->missing, test::all_but(4, {0, 2}));
  });
}

// A rank that never calls lacks its header, whichever wait expires first: here those for headers never do. Blocks
// without roles wait for statistics at once.
TEST_P(eplb_stats_fault, of_a_rank_that_is_gone_are_not_what_is_awaited) {
  for (const int blocks : {3, 8}) {
    auto options = stats_group(3, GetParam());
    options.config.timeout = options.config.warmup_timeout = 300ms;
    options.workers = options.config.max_blocks = blocks;
    const auto patient = std::make_shared<injection::injector>(injection::mutation{.op = injection::operation::wait_all,
                                                                                   .what = injection::effect::extend,
                                                                                   .amount = 20'000'000,
                                                                                   .wait_for = awaited::header});
    if (GetParam() == choice::off) {
      options.make_fabric = [&](int) { return injection::make_injecting_host_fabric(patient); };
    }
    host_group group(options);
    std::array<std::optional<recorded_fault>, 2> faults;
    on_every_rank(3, [&](int rank) {
      if (rank != 2) faults.at(static_cast<std::size_t>(rank)) = fault_of_dispatch(group, rank);
    });
    int seen = 0;
    for (const auto& fault : faults) {
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->code, fault_code::timeout);
      EXPECT_EQ(fault->rank, 2);
      EXPECT_EQ(fault->missing, test::all_but(3, {0, 1}));
      if (fault->from_notice != 0) continue;
      ++seen;
      if (GetParam() == choice::off) {
        EXPECT_EQ(fault->awaited, awaited::header) << blocks;
      } else {  // by lamport a worker may be the first, which waits for rows
        EXPECT_NE(fault->awaited, awaited::statistics) << blocks;
      }
    }
    EXPECT_GT(seen, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(by, eplb_stats_fault, testing::ValuesIn(test::both_transports),
                         [](const auto& by) { return std::string(by.param == choice::off ? "fence" : "lamport"); });

}  // namespace
}  // namespace switchyard
