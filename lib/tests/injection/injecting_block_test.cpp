// SPDX-License-Identifier: Apache-2.0
// The decorator changes what it is told to change, where it is told to, and nothing else.
#include "injection/injecting_block.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "fabric/host/host_block.hpp"

namespace switchyard::injection {
namespace {

static_assert(protocol::block<injecting_block<host::host_block>>);

struct two_workspaces {
  two_workspaces() {
    handle.layout = layout::make_layout({.ep_size = 2, .top_k = 1, .max_tokens = 4, .hidden_bytes = 8});
    for (auto& m : memory) m.resize(handle.layout.total_bytes / 8);
    for (std::size_t i = 0; i < 2; ++i) bases[i] = reinterpret_cast<std::byte*>(memory[i].data());
    handle.self = bases[0];
    handle.peers = bases.data();
    handle.ep_size = 2;
    handle.round().epoch = 77;
  }
  std::byte* hidden(std::size_t rank) { return bases[rank] + handle.layout.offset_of(layout::region::hidden_states); }

  std::array<std::vector<std::uint64_t>, 2> memory;
  std::array<std::byte*, 2> bases{};
  protocol::workspace_handle handle;
  host::host_block inner;
};

const std::array<std::byte, 16> row{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                    std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};

bool holds_row(const std::byte* at) { return std::memcmp(at, row.data(), 8) == 0; }

TEST(injecting_block, puts_where_the_effect_says) {
  const auto put_with = [](two_workspaces& ws, effect what, std::uint64_t amount) {
    injector plan({.op = operation::put, .what = what, .amount = amount, .region = layout::region::hidden_states});
    injecting_block<host::host_block> block(ws.inner, plan, ws.handle);
    block.put(ws.hidden(1), row.data(), 8);
    return plan.matches();
  };
  {
    two_workspaces ws;
    EXPECT_EQ(put_with(ws, effect::drop, 0), 1U);
    EXPECT_FALSE(holds_row(ws.hidden(1)));
  }
  {
    two_workspaces ws;
    put_with(ws, effect::shift, 2);
    EXPECT_FALSE(holds_row(ws.hidden(1)));
    EXPECT_TRUE(holds_row(ws.hidden(1) + 16));
  }
  {
    two_workspaces ws;
    put_with(ws, effect::redirect, 1);
    EXPECT_FALSE(holds_row(ws.hidden(1)));
    EXPECT_TRUE(holds_row(ws.hidden(0)));
  }
  {
    two_workspaces ws;
    put_with(ws, effect::shorten, 1);
    EXPECT_EQ(std::memcmp(ws.hidden(1), row.data(), 7), 0);
    EXPECT_EQ(ws.hidden(1)[7], std::byte{0});
  }
}

TEST(injecting_block, a_deferred_put_comes_after_the_flag) {
  two_workspaces ws;
  injector plan({.op = operation::put, .what = effect::defer});
  injecting_block<host::host_block> block(ws.inner, plan, ws.handle);
  block.put(ws.hidden(1), row.data(), 8);
  EXPECT_FALSE(holds_row(ws.hidden(1)));
  std::uint64_t flag = 0;
  block.publish(
      1, [&](std::uint64_t) { return &flag; }, 5);
  EXPECT_EQ(flag, 5U);
  EXPECT_TRUE(holds_row(ws.hidden(1)));
}

TEST(injecting_block, selects_by_rank_peer_region_offset_and_count) {
  two_workspaces ws;
  const auto changed = [&](mutation plan_for, int times = 1) {
    plan_for.op = operation::post;
    plan_for.what = effect::drop;
    injector plan(plan_for);
    injecting_block<host::host_block> block(ws.inner, plan, ws.handle);
    auto* word =
        reinterpret_cast<std::uint64_t*>(ws.bases[1] + ws.handle.layout.offset_of(layout::region::headers) + 8);
    int dropped = 0;
    for (int i = 0; i < times; ++i) {
      *word = 0;
      block.post(word, 9);
      dropped += *word == 0 ? 1 : 0;
    }
    return dropped;
  };
  EXPECT_EQ(changed({}), 1);
  EXPECT_EQ(changed({.rank = 0}), 1);
  EXPECT_EQ(changed({.rank = 1}), 0);
  EXPECT_EQ(changed({.peer = 1}), 1);
  EXPECT_EQ(changed({.peer = 0}), 0);
  EXPECT_EQ(changed({.to_self = true}), 0);
  EXPECT_EQ(changed({.region = layout::region::headers}), 1);
  EXPECT_EQ(changed({.region = layout::region::notice}), 0);
  EXPECT_EQ(changed({.region = layout::region::headers, .offset = 8}), 1);
  EXPECT_EQ(changed({.region = layout::region::headers, .offset = 0}), 0);
  EXPECT_EQ(changed({.skip_first = 2, .at_most = 3}, 10), 3);
}

TEST(injecting_block, changes_words_and_tickets) {
  two_workspaces ws;
  std::uint64_t word = 0;
  {
    injector plan({.op = operation::post, .what = effect::retag, .amount = 0xFFFFFFFF});
    injecting_block<host::host_block>(ws.inner, plan, ws.handle).post(&word, layout::tagged(3, 10));
    EXPECT_EQ(word, layout::tagged(3, 9));
  }
  {
    injector plan({.op = operation::poll, .what = effect::retag});
    EXPECT_EQ(injecting_block<host::host_block>(ws.inner, plan, ws.handle).poll(&word), layout::tagged(3, 77));
  }
  {
    injector plan({.op = operation::draw_ticket, .what = effect::reorder});
    injecting_block<host::host_block> block(ws.inner, plan, ws.handle);
    std::uint32_t next = 0;
    EXPECT_EQ(block.draw_ticket(&next), 1U);
    EXPECT_EQ(block.draw_ticket(&next), 0U);
    EXPECT_EQ(block.draw_ticket(&next), 3U);
  }
}

TEST(injecting_block, changes_the_sum) {
  two_workspaces ws;
  const std::array<float, 3> terms{16777216.0F, 1.0F, 1.0F};
  std::array<const std::byte*, 3> rows{};
  for (std::size_t i = 0; i < 3; ++i) rows[i] = reinterpret_cast<const std::byte*>(&terms[i]);
  const auto sum = [&](effect what) {
    injector plan({.op = operation::sum_rows, .what = what});
    float out = 0;
    injecting_block<host::host_block>(ws.inner, plan, ws.handle)
        .sum_rows(
            reinterpret_cast<std::byte*>(&out), 3, [&](std::uint32_t i) { return rows[i]; }, 1, dtype::fp32);
    return out;
  };
  EXPECT_EQ(sum(effect::delay), 16777216.0F);
  EXPECT_EQ(sum(effect::reorder), 16777218.0F);
  EXPECT_EQ(sum(effect::drop), 16777216.0F);
}

}  // namespace
}  // namespace switchyard::injection
