// SPDX-License-Identifier: Apache-2.0
// What groups on one or several GPUs are put through before they recover.
#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <thread>

#include "device_counters.hpp"
#include "fabric/cuda/slice_layout.hpp"
#include "fabric/cuda/symmetric_memory.hpp"
#include "recovering_group.hpp"
#include "rules.hpp"
#include "shared_device.hpp"

namespace switchyard::test {

inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// After each kind of fault all ranks recover, and every later step is exact.
inline void expect_recovery_from_every_fault(int num_devices, int ep_size, choice lamport, launch_by by) {
  recovering_group group(recovering_exchange(ep_size, lamport), num_devices, by);
  const auto everybody = group.everybody();
  const auto should_be = group.expected(everybody);
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    group.expect_exact_steps(rank, everybody, should_be, "nothing");
    for (const auto kind : all_gpu_fault_kinds) {
      err(group, rank, 1, kind);
      if (rank != 1) {
        group.group().synchronize(rank);
        ASSERT_TRUE(group.group().instance(rank).status()) << "rank " << rank;
      }
      group.meet();
      group.recover(rank, everybody);
      group.expect_exact_steps(rank, everybody, should_be, "fault " + std::to_string(static_cast<int>(kind)));
      if (testing::Test::HasFailure()) return;
    }
  });
}

/// One rank sleeps; the others recover without it, twice, and with it when it is back.
inline void expect_survivors_to_go_on(int num_devices, int ep_size, choice lamport, launch_by by) {
  recovering_group group(recovering_exchange(ep_size, lamport), num_devices, by);
  const auto everybody = group.everybody();
  const auto active = all_but(ep_size, {1});
  const auto whole = group.expected(everybody);
  const auto without = group.expected(active);
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    group.expect_exact_steps(rank, everybody, whole, "nothing");
    for (int round = 0; round < 2; ++round) {
      if (rank != 1) {
        for (int again = 0; again < 2; ++again) {
          err(group, rank, 1, gpu_fault_kind::stays_away);
          if (again == 0) {
            group.group().synchronize(rank);
            ASSERT_TRUE(group.group().instance(rank).status()) << "rank " << rank;
          }
          group.recover(rank, active);
          group.expect_exact_steps(rank, active, without, "recovery without rank 1");
        }
      }
      group.recover(rank, everybody);
      group.expect_exact_steps(rank, everybody, whole, "recovery of all");
    }
  });
}

/// What rank `by` has mapped of rank `of`, where peers store.
inline haunted_places places_of(recovering_group& group, int by, int of) {
  const auto& shape = group.shape();
  const auto plan = layout::make_layout(extents_of(shape.params, shape.config, shape.ep_size));
  const cuda::symmetric_memory ruler(*cuda::load_driver().api, group.group().device_of(by), 0, shape.ep_size,
                                     cuda::needed_slice_bytes(plan));
  auto* base =
      group.group().instance(by).workspace_data() + (of - by) * static_cast<std::ptrdiff_t>(ruler.slice_bytes());
  haunted_places where{};
  for (const auto& spec : layout::region_table) {
    const auto bytes = plan.size_of(spec.id) / 16 * 16;
    if (spec.writer != layout::writer::peers || bytes == 0 || where.count == haunted_places::most) continue;
    where.places[where.count] = base + plan.offset_of(spec.id);
    where.bytes[where.count++] = bytes;
  }
  return where;
}

/// A kernel of a rank that is left out goes on storing into what it has mapped of the others, while these recover and
/// for some time after.
inline void expect_a_zombie_to_haunt_old_memory_only(int num_devices, choice lamport, launch_by by) {
  constexpr int ranks = 3;
  constexpr int dead = 2;
  load_test_kernels(num_devices);
  recovering_group group(recovering_exchange(ranks, lamport), num_devices, by);
  const auto everybody = group.everybody();
  const auto active = all_but(ranks, {dead});
  const auto whole = group.expected(everybody);
  const auto without = group.expected(active);
  const host_words words(2);  // rounds of the zombie's blocks; release
  group.group().make_current(dead);
  const plain_stream beside;
  std::vector<haunted_places> haunted;
  for (int rank = 0; rank < dead; ++rank) haunted.push_back(places_of(group, dead, rank));
  auto both = haunted[0];
  for (int i = 0; i < haunted[1].count && both.count < haunted_places::most; ++i) {
    both.places[both.count] = haunted[1].places[i];
    both.bytes[both.count++] = haunted[1].bytes[i];
  }
  on_every_rank(ranks, [&](int rank) {
    group.group().make_current(rank);
    group.expect_exact_steps(rank, everybody, whole, "nothing");
    group.group().synchronize(rank);
    group.meet();
    if (rank == dead) {
      launch_zombie(both, std::byte{0xEE}, words.at(0), words.at(1), beside.get());
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (words.load(0) == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      EXPECT_NE(words.load(0), 0U) << "no zombie";
      group.meet();
      return;
    }
    group.meet();
    for (int round = 0; round < 3; ++round) {
      const auto before = words.load(0);
      group.recover(rank, active);
      group.expect_exact_steps(rank, active, without, "recovery beside a zombie");
      EXPECT_NE(words.load(0), before) << "the zombie has ended, so nothing was shown";
    }
  });
  words.store(1, 1);
  group.group().make_current(dead);
  check_cuda(cudaStreamSynchronize(beside.get()));
  // It stored where the others were, and the memory there was as it left it.
  std::vector<unsigned char> found(both.bytes[0]);
  check_cuda(cudaMemcpy(found.data(), both.places[0], found.size(), cudaMemcpyDeviceToHost));
  EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](unsigned char byte) { return byte == 0xEE; }));
  on_every_rank(ranks, [&](int rank) {
    group.group().make_current(rank);
    group.recover(rank, everybody);
    group.expect_exact_steps(rank, everybody, whole, "recovery of all, the former zombie too");
  });
}

/// A rank whose launches do not end is named by all, who then do without it.
inline void expect_a_stuck_rank_to_be_named(int num_devices) {
  constexpr int ranks = 3;
  constexpr int stuck = 1;
  load_test_kernels(num_devices);
  auto shape = recovering_exchange(ranks, choice::off);
  shape.config.warmup_timeout = std::chrono::seconds(2);
  recovering_group group(shape, num_devices, launch_by::call);
  const auto active = all_but(ranks, {stuck});
  const auto without = group.expected(active);
  const host_words words(2);  // arrived; release
  on_every_rank(ranks, [&](int rank) {
    group.group().make_current(rank);
    if (rank == stuck) {  // its dispatch stands behind a kernel that waits
      launch_zombie({}, std::byte{0}, words.at(0), words.at(1), group.group().stream(rank));
      group.enqueue(rank, 1);
    }
    try {
      group.group().instance(rank).recover(*group.backend(rank), group.everybody());
      ADD_FAILURE() << "rank " << rank << " recovered with a launch that has not ended";
    } catch (const peer_fault& e) {
      EXPECT_NE(std::string(e.what()).find("the launches of rank(s) 1 did not end"), std::string::npos) << e.what();
      EXPECT_EQ(e.record().missing, all_but(ranks, {0, 2}));
    }
    EXPECT_TRUE(group.group().instance(rank).status()) << "as poisoned as before";
    if (rank == stuck) return;
    group.recover(rank, active);
    group.expect_exact_steps(rank, active, without, "recovery without the stuck rank");
  });
  words.store(1, 1);
}

/// Many recoveries of one group leave no memory, no descriptor, and nothing in the steps between.
inline void expect_recoveries_to_leave_nothing(int num_devices, int ep_size, int rounds) {
  recovering_group group(recovering_exchange(ep_size, choice::automatic), num_devices, launch_by::call);
  const auto everybody = group.everybody();
  auto should_be = group.expected(everybody);
  should_be.resize(1);
  std::vector<std::size_t> free_before(static_cast<std::size_t>(num_devices));
  std::ptrdiff_t descriptors = 0;
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    for (int round = 0; round < rounds; ++round) {
      group.recover(rank, everybody);
      group.expect_exact_steps(rank, everybody, should_be, "recovery " + std::to_string(round));
      group.meet();
      if (rank < num_devices) {
        std::size_t free_now = 0;
        std::size_t total = 0;
        check_cuda(cudaMemGetInfo(&free_now, &total));
        auto& before = free_before[static_cast<std::size_t>(rank)];
        if (round < 2) before = free_now;  // pools settle
        EXPECT_GE(free_now + (1U << 21), before) << "round " << round << " device " << rank;
      }
      if (rank == 0) {
        if (round < 2) descriptors = open_descriptors();
        EXPECT_LE(open_descriptors(), descriptors) << "round " << round;
      }
      group.meet();
    }
  });
}

/// Faults one after another, of all kinds, drawn; each time the group recovers, and what comes behind is exact.
inline void expect_drawn_sequences_to_leave_no_trace(int num_devices, int ep_size, choice lamport, int rounds) {
  auto shape = recovering_exchange(ep_size, lamport);
  shape.config.timeout = std::chrono::milliseconds(100);  // of a step that fails; the one before has the warm-up's
  recovering_group group(shape, num_devices, launch_by::call);
  const auto everybody = group.everybody();
  auto should_be = group.expected(everybody);
  should_be.resize(2);
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    std::mt19937 random(7);  // the same sequence on every rank
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      const auto kind = all_gpu_fault_kinds.at(random() % all_gpu_fault_kinds.size());
      const auto erring = static_cast<int>(random() % static_cast<unsigned>(ep_size));
      const bool waits = random() % 2 == 0;
      const bool leaves_it_out = random() % 3 == 0;  // for one recovery
      group.expect_exact_steps(rank, everybody, should_be, "round " + std::to_string(round));
      err(group, rank, erring, kind);
      if (waits) {
        group.group().synchronize(rank);
        group.meet();
      }
      if (leaves_it_out && rank != erring) group.recover(rank, all_but(ep_size, {erring}));
      group.recover(rank, everybody);
    }
    group.expect_exact_steps(rank, everybody, should_be, "all rounds");
  });
}

}  // namespace switchyard::test
