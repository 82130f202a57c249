// SPDX-License-Identifier: Apache-2.0
// Ranks of the host fabric that are processes: exact as threads are, and survivable where one is killed or stopped.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory_resource>
#include <string>

#include "comm/rank_processes.hpp"
#include "layout/rank_mask.hpp"
#include "support/layered_group.hpp"
#include "support/masked_group.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::meeting_place;
using test::rank_processes;
using test::require;
using test::socket_kind;

comm_params small_params(int ep_size) {
  comm_params params;
  params.num_experts = 4 * ep_size;
  params.top_k = 2;
  params.max_tokens_per_rank = 40;
  params.hidden_size = 64;
  return params;
}

one_sided_config maskable(std::chrono::milliseconds timeout = 20s) {
  one_sided_config config;
  config.timeout = timeout;
  config.warmup_timeout = 30s;
  config.lamport_max_tokens = 16;
  config.enable_rank_mask = true;
  return config;
}

/// Mappings of segments that this process has.
int segments_seen() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:switchyard") != std::string::npos ? 1 : 0;
  return count;
}

/// One rank's end, in its own process.
class process_rank {
 public:
  process_rank(const meeting_place& where, int rank, int ep_size, const one_sided_config& config, int workers = 1)
      : backend(where.make(rank, ep_size)), stream(workers), params_(small_params(ep_size)) {
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = ep_size;
    boot.comm_backend = backend;
    instance = std::make_unique<one_sided_all_to_all>(boot, params_, config);
  }
  ~process_rank() { instance.reset(); }  // before its stream, on which it may have work
  process_rank(const process_rank&) = delete;
  process_rank& operator=(const process_rank&) = delete;

  void step(std::uint32_t number) {
    const auto tokens = static_cast<std::int64_t>(1 + (number * 11) % 40);  // by lamport and by fence
    test::layer_exchange(*instance, stream, {number, tokens, 128}).run();
    require(!testing::Test::HasFailure(), "step " + std::to_string(number) + " is wrong");
  }
  void recover(const rank_set& active) { instance->recover(*backend, active); }

  std::shared_ptr<comm_backend> backend;
  host_stream stream;
  std::unique_ptr<one_sided_all_to_all> instance;

 private:
  comm_params params_;
};

TEST(process_group, steps_are_exact) {
  for (const int ep_size : {2, 3, 5}) {
    for (const int workers : {1, 2}) {
      const meeting_place where(socket_kind::unix_socket);
      rank_processes ranks(ep_size, [&](int rank) {
        process_rank self(where, rank, ep_size, maskable(), workers);
        for (std::uint32_t number = 0; number < 60; ++number) self.step(number);
        require(segments_seen() == ep_size, "a view of each rank's memory");
        self.instance->destroy();
        require(segments_seen() == 0, "and none behind destroy()");
      });
      ranks.expect_all_well();
    }
  }
}

TEST(process_group, layers_share_segments_and_leave_no_descriptor) {
  const meeting_place where(socket_kind::unix_socket);
  rank_processes ranks(2, [&](int rank) {
    process_rank self(where, rank, 2, maskable());
    self.step(0);
    const auto descriptors = test::num_open_descriptors();
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = 2;
    boot.comm_backend = self.backend;
    for (int round = 0; round < 20; ++round) {
      const one_sided_all_to_all layer(boot, small_params(2), maskable());
      require(layer.workspace_data() == self.instance->workspace_data(), "layers share the workspace");
      auto other_config = maskable();
      other_config.lamport_max_tokens = 8;
      const one_sided_all_to_all other(boot, small_params(2), other_config);
      require(segments_seen() == 4, "the other layout has segments of its own");
    }
    test::require_open_descriptors(descriptors);
    self.step(1);
  });
  ranks.expect_all_well();
}

TEST(process_group, checkpoints_take_segments_away_and_bring_others) {
  const meeting_place where(socket_kind::unix_socket);
  const meeting_place again(socket_kind::unix_socket);
  rank_processes ranks(3, [&](int rank) {
    process_rank self(where, rank, 3, maskable());
    self.step(0);
    const auto* const data = self.instance->workspace_data();
    const auto descriptors = test::num_open_descriptors();
    for (std::uint32_t round = 1; round < 6; ++round) {
      self.backend = nullptr;
      self.instance->checkpoint_prepare();
      require(segments_seen() == 0, "no memory is left");
      require(test::num_open_descriptors() == descriptors - 2, "the backend's connections are closed");
      self.backend = again.make(rank, 3);
      self.instance->checkpoint_restore(self.backend);
      require(self.instance->workspace_data() == data, "at the same address");
      for (std::uint32_t number = 0; number < 5; ++number) self.step(10 * round + number);
    }
  });
  ranks.expect_all_well();
}

/// Everybody leaves a step by name of who is missing.
void require_missed(process_rank& self, std::uint32_t number, int missing) {
  test::layer_exchange exchange(*self.instance, self.stream, {number, 8, 128});
  const auto begin = test::clock::now();
  exchange.dispatch();
  self.stream.synchronize();
  const auto waited = test::clock::now() - begin;
  const auto fault = self.instance->status();
  require(fault && fault->code == fault_code::timeout, "no timeout");
  require(contains(fault->missing, missing) || fault->rank == missing, "another rank is missed");
  require(waited < 10s, "missed too late");
}

/// Under a mask without rank 1: what was routed there adds nothing. Sums of the others' copies are as they were.
void require_steps_without(process_rank& self, int ep_size) {
  for (int number = 0; number < 10; ++number) {
    const auto params = small_params(ep_size);
    const int mine = self.instance->rank();
    // Token t goes to its own rank and to rank t.
    std::vector<std::vector<std::int32_t>> ids;
    for (int rank = 0; rank < ep_size; ++rank) ids.push_back({4 * mine, 4 * rank + 1});
    test::token_batch batch(mine, params, ids);
    const auto received = self.instance->dispatch(batch.inputs(), {}, self.stream);
    self.instance->combine(test::identity_experts(*self.instance, received, self.stream), batch.output(), self.stream);
    self.stream.synchronize();
    require(!self.instance->status(), "a fault among the survivors");
    for (int token = 0; token < ep_size; ++token) {
      const int copies = token == mine || token == 1 ? 1 : 2;
      for (int h = 0; h < 64; ++h) {
        const auto row = (16 * mine + token) % 64 + h % 2;
        const auto expected = test::token_batch::bits_of(static_cast<float>(copies * row));
        require(batch.output_row(static_cast<std::size_t>(token))[h] == expected, "a wrong sum");
      }
    }
  }
}

TEST(process_group, survivors_name_a_rank_that_was_killed_and_go_on_without_it) {
  const meeting_place where(socket_kind::unix_socket);
  rank_processes ranks(3, [&](int rank) {
    process_rank self(where, rank, 3, maskable(500ms));
    for (std::uint32_t number = 0; number < 5; ++number) self.step(number);
    if (rank == 1) (void)::raise(SIGKILL);
    require_missed(self, 5, 1);
    for (int round = 0; round < 3; ++round) {
      self.recover(test::all_but(3, {1}));
      require_steps_without(self, 3);
    }
    require(segments_seen() == 3, "the dead rank's memory stays where it was, and no more than that");
  });
  EXPECT_EQ(ranks.outcome(0), "");
  EXPECT_EQ(ranks.outcome(1), "ended by signal 9");
  EXPECT_EQ(ranks.outcome(2), "");
}

/// Of the survivors alone, as a caller makes it who starts anew: it must bring descriptors as well.
TEST(process_group, survivors_recover_by_a_backend_of_their_own) {
  const meeting_place where(socket_kind::unix_socket);
  const meeting_place again(socket_kind::unix_socket);
  rank_processes ranks(3, [&](int rank) {
    process_rank self(where, rank, 3, maskable(500ms));
    for (std::uint32_t number = 0; number < 5; ++number) self.step(number);
    if (rank == 1) (void)::raise(SIGKILL);
    require_missed(self, 5, 1);
    const auto pair = again.make(rank == 0 ? 0 : 1, 2);
    self.instance->recover(*pair, test::all_but(3, {1}));
    require_steps_without(self, 3);
  });
  EXPECT_EQ(ranks.outcome(0), "");
  EXPECT_EQ(ranks.outcome(1), "ended by signal 9");
  EXPECT_EQ(ranks.outcome(2), "");
}

/// What it does when it goes on happens in memory that the others have left behind.
TEST(process_group, a_rank_that_was_stopped_comes_back_by_recover) {
  const meeting_place where(socket_kind::unix_socket);
  test::shared<std::atomic<int>> stage;
  rank_processes ranks(3, [&](int rank) {
    process_rank self(where, rank, 3, maskable(500ms));
    for (std::uint32_t number = 0; number < 5; ++number) self.step(number);
    if (rank == 1) {
      ++*stage.operator->();
      (void)::raise(SIGSTOP);
      // It knows of nothing: this step's rows go where its peers' memory was.
      test::layer_exchange lost(*self.instance, self.stream, {5, 40, 128});
      lost.dispatch();
      self.stream.synchronize();
      require(self.instance->status().has_value(), "a step without peers went well");
      ++*stage.operator->();
    } else {
      require_missed(self, 5, 1);
      self.recover(test::all_but(3, {1}));
      require_steps_without(self, 3);
      ++*stage.operator->();
      // Beside what the stopped one does when it goes on; the two must agree on when to end.
      int go_on = 1;
      while (go_on != 0) {
        require_steps_without(self, 3);
        const auto part = self.backend->part_of(test::all_but(3, {1}), 20s);
        go_on = test::gather_int(*part, stage->load() < 4 ? 1 : 0, 20s).at(0);
      }
    }
    self.recover(layout::all_ranks(3));
    for (std::uint32_t number = 10; number < 20; ++number) self.step(number);
  });
  test::await(*stage.operator->(), 3);
  ranks.send_signal(1, SIGCONT);
  ranks.expect_all_well();
}

TEST(process_group, is_refused_where_memory_cannot_be_passed) {
  for (const bool by_tcp : {true, false}) {
    const meeting_place where(by_tcp ? socket_kind::tcp : socket_kind::unix_socket);
    rank_processes ranks(2, [&](int rank) {
      bootstrap boot;
      boot.rank = rank;
      boot.ep_size = 2;
      boot.comm_backend = where.make(rank, 2);
      if (!by_tcp) boot.host_memory = std::pmr::new_delete_resource();
      test::require_error<unsupported>(
          by_tcp ? "ranks are processes, and the comm backend passes no descriptors" : "host_memory is a resource",
          [&] { const one_sided_all_to_all refused(boot, small_params(2), maskable()); });
    });
    ranks.expect_all_well();
  }
}

}  // namespace
}  // namespace switchyard
