// SPDX-License-Identifier: Apache-2.0
// As many ranks as a rack has GPUs, as processes of one host: that they come together and are exact, and what each
// takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "comm/rank_processes.hpp"
#include "support/layered_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;

/// Of this process alone, in KiB: pages of segments count once, at whoever they belong to.
std::int64_t own_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "RssAnon:") continue;
    std::int64_t kib = 0;
    status >> kib;
    return kib;
  }
  return 0;
}

/// What one group of processes took, the most of any rank.
struct figures {
  std::atomic<std::int64_t> connect_ms{0};
  std::atomic<std::int64_t> memory_kib{0};
};

void keep_most(std::atomic<std::int64_t>& most, std::int64_t value) {
  auto found = most.load();
  while (found < value && !most.compare_exchange_weak(found, value)) {
  }
}

void expect_a_rack_of(int ep_size) {
  const test::meeting_place where(test::socket_kind::unix_socket);
  const test::shared<figures> took;
  test::rank_processes ranks(ep_size, [&](int rank) {
    const auto begin = test::clock::now();
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = ep_size;
    boot.comm_backend = where.make(rank, ep_size);
    comm_params params;  // rows of deepseek_v3, four experts a rank
    params.num_experts = 4 * ep_size;
    params.top_k = 2;
    params.max_tokens_per_rank = 8;
    params.hidden_size = 7168;
    one_sided_config config;
    config.timeout = config.warmup_timeout = 40s;
    one_sided_all_to_all instance(boot, params, config);
    keep_most(took->connect_ms,
              std::chrono::duration_cast<std::chrono::milliseconds>(test::clock::now() - begin).count());
    host_stream stream(1);
    for (std::uint32_t number = 0; number < 4; ++number) {
      const std::array<std::int64_t, 4> tokens{1, 8, 4, 2};
      test::layer_exchange(instance, stream, {number, tokens[number], 14336}).run();
      test::require(!testing::Test::HasFailure(), "step " + std::to_string(number) + " is wrong");
    }
    keep_most(took->memory_kib, own_memory_kib());
    boot.comm_backend->barrier(40s);
  });
  ranks.expect_all_well();
  std::printf("%d processes: connected within %lld ms, %lld KiB of its own in the largest\n", ep_size,
              static_cast<long long>(took->connect_ms), static_cast<long long>(took->memory_kib));
}

TEST(process_scale, a_rack_of_processes_is_exact) {
  for (const int ep_size : {9, 18, 36, 72}) expect_a_rack_of(ep_size);
}

}  // namespace
}  // namespace switchyard
