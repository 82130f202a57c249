// SPDX-License-Identifier: Apache-2.0
// Laws that any right dispatch and combine keep, over random routing and awkward group sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/float_conversion.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/reference/simulated_expert.hpp"

namespace switchyard::reference {
namespace {

using tests::byte_row;
using u16 = std::uint16_t;

constexpr int group_sizes[] = {1, 2, 3, 5, 6, 7, 8};

/// Groups of every awkward size with uneven token counts (3r + 1), the last rank but one without tokens, four rows of
/// padding on each of the others that has as many.
struct random_step {
  step_shape shape;
  std::vector<rank_routing> routing;

  random_step(std::mt19937_64& random, int ep_size, std::int64_t num_experts) {
    const std::int64_t top_k = std::min<std::int64_t>(4, num_experts);
    shape = tests::shape_of(ep_size, num_experts, top_k, 3 * ep_size + 2);  // T is larger than every n
    for (int rank = 0; rank < ep_size; ++rank) {
      const bool idle = ep_size > 1 && rank == ep_size - 2;
      routing.push_back(tests::random_routing(random, shape, idle ? 0 : 3 * rank + 1, 6));
      auto& ids = routing.back().topk_ids;
      if (ids.size() > static_cast<std::size_t>(5 * top_k)) std::fill_n(ids.end() - 5 * top_k, 4 * top_k, -1);
    }
  }

  [[nodiscard]] std::span<const std::int32_t> ids_of(std::size_t rank, std::int64_t token) const {
    const auto top_k = static_cast<std::size_t>(shape.params.top_k);
    return std::span(routing[rank].topk_ids).subspan(static_cast<std::size_t>(token) * top_k, top_k);
  }

  /// The ranks a token goes to, found by walking the experts of each rank.
  [[nodiscard]] std::set<int> destinations(std::size_t rank, std::int64_t token) const {
    std::set<int> ranks;
    std::int64_t first = 0;
    for (int owner = 0; owner < shape.ep_size; ++owner) {
      const std::int64_t owned =
          shape.params.num_experts / shape.ep_size + (owner < shape.params.num_experts % shape.ep_size ? 1 : 0);
      for (const std::int32_t id : ids_of(rank, token)) {
        if (id >= first && id < first + owned) ranks.insert(owner);
      }
      first += owned;
    }
    return ranks;
  }
};

template <typename Check>
void for_random_steps(const Check& check) {
  std::mt19937_64 random(11);
  for (const int ep_size : group_sizes) {
    for (const std::int64_t num_experts : {4 * ep_size, 4 * ep_size + 1, 5 * ep_size - 1, ep_size}) {
      SCOPED_TRACE(testing::Message() << num_experts << " experts on " << ep_size << " ranks");
      check(random_step(random, ep_size, num_experts), random);
    }
  }
}

TEST(step_laws, every_route_lands_once_and_nothing_else_does) {
  for_random_steps([](const random_step& step, std::mt19937_64&) {
    const auto ranks = dispatch(step.shape, step.routing);
    const std::int64_t stride = step.shape.tokens_per_rank;
    for (std::size_t source = 0; source < step.routing.size(); ++source) {
      for (std::size_t destination = 0; destination < ranks.size(); ++destination) {
        std::vector<std::int64_t> expected;
        for (std::int64_t token = 0; token < step.routing[source].num_tokens; ++token) {
          if (step.destinations(source, token).contains(static_cast<int>(destination))) expected.push_back(token);
        }
        EXPECT_EQ(ranks[destination].recv_counts[source], static_cast<std::int32_t>(expected.size()));
        expected.resize(static_cast<std::size_t>(stride), -1);
        const auto rows = std::span(ranks[destination].source_tokens)
                              .subspan(source * static_cast<std::size_t>(stride), static_cast<std::size_t>(stride));
        EXPECT_EQ(std::vector<std::int64_t>(rows.begin(), rows.end()), expected);
      }
    }
  });
}

TEST(step_laws, counts_and_traffic_sum_to_the_routes) {
  for_random_steps([](const random_step& step, std::mt19937_64&) {
    constexpr std::uint64_t row_bytes = 48;
    std::uint64_t rows = 0;
    std::uint64_t remote = 0;
    std::uint64_t selections = 0;
    for (std::size_t rank = 0; rank < step.routing.size(); ++rank) {
      for (std::int64_t token = 0; token < step.routing[rank].num_tokens; ++token) {
        const auto to = step.destinations(rank, token);
        rows += to.size();
        remote += to.size() - (to.contains(static_cast<int>(rank)) ? 1 : 0);
        for (const std::int32_t id : step.ids_of(rank, token)) selections += id >= 0 ? 1 : 0;
      }
    }
    std::uint64_t received = 0;
    for (const auto& rank : dispatch(step.shape, step.routing)) {
      received += static_cast<std::uint64_t>(std::accumulate(rank.recv_counts.begin(), rank.recv_counts.end(), 0));
    }
    EXPECT_EQ(received, rows);
    traffic total;
    for (const traffic& of : count_traffic(step.shape, step.routing, row_bytes)) {
      total.selection_bytes += of.selection_bytes;
      total.unique_bytes += of.unique_bytes;
      total.remote_send_bytes += of.remote_send_bytes;
      total.remote_recv_bytes += of.remote_recv_bytes;
    }
    EXPECT_EQ(total.selection_bytes, selections * row_bytes);
    EXPECT_EQ(total.unique_bytes, rows * row_bytes);
    EXPECT_EQ(total.remote_send_bytes, remote * row_bytes);
    EXPECT_EQ(total.remote_recv_bytes, remote * row_bytes);
  });
}

/// Small whole numbers, so that sums of up to eight are exact in bf16.
float small_value(std::size_t source, std::int64_t token, std::size_t element) {
  return static_cast<float>(static_cast<int>((source * 7 + static_cast<std::size_t>(token) * 5 + element * 3) % 31) -
                            15);
}

byte_row token_row(std::size_t source, std::int64_t token, std::size_t elements, float factor = 1.0F) {
  std::vector<u16> row;
  for (std::size_t j = 0; j < elements; ++j) row.push_back(fp32_to_bf16(factor * small_value(source, token, j)));
  return tests::row_of(row);
}

TEST(step_laws, identity_experts_give_the_token_times_its_distinct_ranks) {
  for_random_steps([](const random_step& step, std::mt19937_64&) {
    const auto elements = static_cast<std::size_t>(step.shape.params.hidden_size);
    const auto outputs = tests::play_step(step.shape, step.routing, [&](int, int source, std::int64_t token) {
      return token_row(static_cast<std::size_t>(source), token, elements);
    });
    for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
      for (std::int64_t token = 0; token < step.routing[rank].num_tokens; ++token) {
        const auto times = step.destinations(rank, token).size();
        const byte_row expected = times == 0 ? byte_row(elements * 2, std::byte{0})
                                             : token_row(rank, token, elements, static_cast<float>(times));
        // -15 .. 15 times 0 would be -0 where the value is negative; no source gives +0, hence the case above.
        EXPECT_EQ(outputs[rank][static_cast<std::size_t>(token)], expected) << "rank " << rank << " token " << token;
      }
    }
  });
}

TEST(step_laws, permuting_ranks_permutes_outputs) {
  std::mt19937_64 random(12);
  for (const int ep_size : group_sizes) {
    const std::int64_t per_rank = 3;
    const random_step step(random, ep_size, per_rank * ep_size);
    const auto num_ranks = static_cast<std::size_t>(ep_size);
    const auto elements = static_cast<std::size_t>(step.shape.params.hidden_size);
    std::vector<std::size_t> moved(num_ranks);  // rank r becomes moved[r]; its experts go with it
    std::iota(moved.begin(), moved.end(), std::size_t{0});
    std::shuffle(moved.begin(), moved.end(), random);
    std::vector<int> origin(num_ranks);
    std::vector<rank_routing> routing(num_ranks);
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
      origin[moved[rank]] = static_cast<int>(rank);
      routing[moved[rank]] = step.routing[rank];
      for (std::int32_t& id : routing[moved[rank]].topk_ids) {
        if (id < 0) continue;
        const auto owner = static_cast<std::size_t>(id / per_rank);
        id = static_cast<std::int32_t>(moved[owner]) * static_cast<std::int32_t>(per_rank) +
             id % static_cast<std::int32_t>(per_rank);
      }
    }
    // Random bits that depend on owner, source and token: sums whose bits depend on the order.
    const auto expert = [&](int owner, int source, std::int64_t token) {
      std::mt19937_64 of_row(static_cast<std::uint64_t>((owner * 100 + source) * 1000 + token));
      return tests::random_row(of_row, elements * 2);
    };
    const auto before = tests::play_step(step.shape, step.routing, expert);
    const auto after = tests::play_step(step.shape, routing, [&](int owner, int source, std::int64_t token) {
      return expert(origin[static_cast<std::size_t>(owner)], origin[static_cast<std::size_t>(source)], token);
    });
    const auto dispatched = dispatch(step.shape, step.routing);
    const auto dispatched_after = dispatch(step.shape, routing);
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
      EXPECT_EQ(after[moved[rank]], before[rank]) << "rank " << rank << " of " << ep_size;
      for (std::size_t source = 0; source < num_ranks; ++source) {
        EXPECT_EQ(dispatched_after[moved[rank]].recv_counts[moved[source]], dispatched[rank].recv_counts[source]);
      }
    }
  }
}

TEST(step_laws, a_token_sums_alike_alone_and_in_a_batch) {
  std::mt19937_64 random(13);
  const step_shape shape = tests::shape_of(4, 10, 4, 64, 16);
  std::vector<rank_routing> batch(4);
  batch[2] = tests::random_routing(random, shape, 64, 9);
  const auto expert_of = [&](std::int64_t shift) {
    return [&shape, shift](int owner, int, std::int64_t token) {
      std::mt19937_64 of_row(static_cast<std::uint64_t>(owner * 1000 + token + shift));
      return tests::random_row(of_row, static_cast<std::size_t>(shape.params.hidden_size) * 2);
    };
  };
  const auto outputs = tests::play_step(shape, batch, expert_of(0));
  for (std::int64_t token = 0; token < 64; ++token) {
    std::vector<rank_routing> alone(4);
    const auto first = batch[2].topk_ids.begin() + token * 4;
    alone[2] = {1, {first, first + 4}};
    EXPECT_EQ(tests::play_step(shape, alone, expert_of(token))[2][0], outputs[2][static_cast<std::size_t>(token)]);
  }
}

// NaN activations name one expert in every slot; their rows alone may become NaN.
TEST(step_laws, nan_rows_stay_alone_and_the_others_are_exact) {
  step_shape shape = tests::shape_of(2, 16, 8, 16, 4);
  std::vector<rank_routing> routing(2);
  for (auto& of_rank : routing) of_rank.num_tokens = 16;
  for (int token = 0; token < 16; ++token) {
    for (int k = 0; k < 8; ++k) {
      routing[0].topk_ids.push_back(token < 12 ? (token + k) % 16 : 3);
      routing[1].topk_ids.push_back(k < 4 ? 3 : 8);
    }
  }
  const std::vector<float> weights(8, 0.125F);
  const auto is_nan_row = [](int source, std::int64_t token) { return source == 0 && token >= 12; };
  const auto outputs = tests::play_step(shape, routing, [&](int owner, int source, std::int64_t token) {
    const byte_row row = is_nan_row(source, token) ? tests::row_of<u16>(std::vector<u16>(4, 0xFFC1))
                                                   : tests::row_of<u16>(std::vector<u16>(4, 0x4380));  // 256
    byte_row out(row.size());
    const auto& ids = routing[static_cast<std::size_t>(source)].topk_ids;
    simulated_expert_row(owner, 2, shape.params, std::span(ids).subspan(static_cast<std::size_t>(token) * 8, 8),
                         weights, row.data(), nullptr, out.data());
    return out;
  });
  for (int source = 0; source < 2; ++source) {
    for (std::int64_t token = 0; token < 16; ++token) {
      // 256 / 8 * (sum over slots of (id + 1) / 64) = (sum of (id + 1)) / 2
      float expected = 0.0F;
      for (std::size_t k = 0; k < 8; ++k) {
        const auto id = routing[static_cast<std::size_t>(source)].topk_ids[static_cast<std::size_t>(token) * 8 + k];
        expected += static_cast<float>(id + 1) / 2.0F;
      }
      const u16 bits = is_nan_row(source, token) ? u16{0x7FFF} : fp32_to_bf16(expected);
      EXPECT_EQ(outputs[static_cast<std::size_t>(source)][static_cast<std::size_t>(token)],
                tests::row_of<u16>(std::vector<u16>(4, bits)))
          << "rank " << source << " token " << token;
    }
  }
}

}  // namespace
}  // namespace switchyard::reference
