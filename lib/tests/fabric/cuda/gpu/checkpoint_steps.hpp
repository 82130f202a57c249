// SPDX-License-Identifier: Apache-2.0
// Groups on GPUs that give their memory back and get it again; every step is compared with the host fabric's.
#pragma once

#include <algorithm>
#include <string>

#include "recovery_steps.hpp"

namespace switchyard::test {

/// What the devices of a group have free, seen when nobody of it takes or gives.
class device_room {
 public:
  explicit device_room(int num_devices) : num_devices_(num_devices) {}
  [[nodiscard]] std::size_t free_bytes() const {
    int current = 0;
    check_cuda(cudaGetDevice(&current));
    std::size_t all = 0;
    for (int device = 0; device < num_devices_; ++device) {
      std::size_t free = 0;
      std::size_t total = 0;
      check_cuda(cudaSetDevice(device));
      check_cuda(cudaMemGetInfo(&free, &total));
      all += free;
    }
    check_cuda(cudaSetDevice(current));
    return all;
  }

 private:
  int num_devices_;
};

/// Steps, memory away, memory back, and so on; steps are calls, or replays of a graph that was captured before.
inline void expect_checkpoints_to_be_exact(int num_devices, int ep_size, choice lamport, launch_by by, int rounds) {
  recovering_group group(recovering_exchange(ep_size, lamport), num_devices, by);
  const auto everybody = group.everybody();
  const auto all_steps = group.expected(everybody);
  const outcomes one_step(all_steps.begin(), all_steps.begin() + 1);
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    auto& instance = group.group().instance(rank);
    group.expect_exact_steps(rank, everybody, all_steps, "nothing");
    const auto* const data = instance.workspace_data();
    for (int round = 0; round < rounds; ++round) {
      group.meet();  // replays are no calls: the library cannot see that a peer's are still running
      instance.checkpoint_prepare();
      instance.checkpoint_prepare();
      EXPECT_THROW(instance.abort("a test"), state_error);
      instance.checkpoint_restore(group.backend(rank));
      ASSERT_EQ(instance.workspace_data(), data);
      const auto& should_be = round == 0 || round == rounds - 1 ? all_steps : one_step;
      group.expect_exact_steps(rank, everybody, should_be, "checkpoint " + std::to_string(round));
      if (testing::Test::HasFailure()) return;
    }
  });
}

/// The workspaces' bytes are free after prepare and taken after restore, and no descriptor is left open.
inline void expect_memory_to_leave_and_return(int num_devices, int ep_size) {
  auto shape = recovering_exchange(ep_size, choice::automatic);
  shape.params.max_tokens_per_rank = 1 << 18;  // workspaces of hundreds of MiB, beside which pools do not show
  shape.config.lamport_max_tokens = 64;
  recovering_group group(shape, num_devices, launch_by::call);
  const auto everybody = group.everybody();
  auto should_be = group.expected(everybody);
  should_be.resize(1);
  const device_room room(num_devices);
  const auto workspaces = static_cast<std::size_t>(ep_size) * workspace_bytes(shape.params, shape.config, ep_size);
  ASSERT_GT(workspaces, std::size_t{256} << 20);
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    auto& instance = group.group().instance(rank);
    group.expect_exact_steps(rank, everybody, should_be, "nothing");
    group.meet();
    const auto before = room.free_bytes();
    const auto descriptors = open_descriptors();
    group.meet();
    for (int round = 0; round < 3; ++round) {
      instance.checkpoint_prepare();
      group.meet();
      const auto prepared = room.free_bytes();
      EXPECT_GE(prepared - before, workspaces) << "round " << round;
      EXPECT_LE(prepared - before, workspaces + workspaces / 100 + (std::size_t{4} << 20)) << "round " << round;
      EXPECT_LE(open_descriptors(), descriptors) << "round " << round;
      group.meet();
      instance.checkpoint_restore(group.backend(rank));
      group.meet();
      const auto restored = room.free_bytes();
      EXPECT_LE(std::max(before, restored) - std::min(before, restored), workspaces / 100) << "round " << round;
      EXPECT_LE(open_descriptors(), descriptors) << "round " << round;
      if (rank == 0 && round == 0) {
        std::printf("workspaces %zu MiB; free before %zu, prepared %zu, restored %zu MiB\n", workspaces >> 20,
                    before >> 20, prepared >> 20, restored >> 20);
      }
      group.meet();
      group.expect_exact_steps(rank, everybody, should_be, "checkpoint");
    }
  });
}

/// Recoveries and checkpoints in turns, and masks that outlive a checkpoint.
inline void expect_checkpoints_among_recoveries(int num_devices, int ep_size, choice lamport) {
  recovering_group group(recovering_exchange(ep_size, lamport), num_devices, launch_by::call);
  const auto everybody = group.everybody();
  const auto active = all_but(ep_size, {1});
  const auto whole = group.expected(everybody);
  const auto without = group.expected(active);
  on_every_rank(ep_size, [&](int rank) {
    group.group().make_current(rank);
    auto& instance = group.group().instance(rank);
    for (int round = 0; round < 3; ++round) {
      err(group, rank, 1, gpu_fault_kind::other_step);
      group.group().synchronize(rank);
      EXPECT_THROW(instance.checkpoint_prepare(), error) << "poisoned, here or at a peer";
      group.meet();
      group.recover(rank, everybody);
      group.expect_exact_steps(rank, everybody, whole, "recovery");
      if (rank != 1) instance.set_active_ranks(active, group.group().stream(rank));
      instance.checkpoint_prepare();
      instance.checkpoint_restore(group.backend(rank));
      if (rank != 1) group.expect_exact_steps(rank, active, without, "checkpoint without rank 1");
      group.meet();
      group.recover(rank, everybody);
      if (testing::Test::HasFailure()) return;
    }
  });
}

/// Layers of one group that share its workspace: a checkpoint by one of them is all of theirs.
inline void expect_layers_to_share(int num_devices, int ep_size) {
  const auto shape = recovering_exchange(ep_size, choice::automatic);
  cuda_group group(shape, num_devices);
  const auto backends = make_in_process_backends(ep_size);
  const auto should_be = run_the_same_on_host(shape, 20);
  constexpr std::size_t layers = 60;
  const device_room room(num_devices);
  std::barrier meeting(ep_size);
  on_every_rank(ep_size, [&](int rank) {
    const drops_out leaves(meeting);
    group.make_current(rank);
    std::vector<std::unique_ptr<one_sided_all_to_all>> all;
    bootstrap boot;
    boot.rank = rank;
    boot.ep_size = ep_size;
    boot.kind = fabric_kind::cuda;
    boot.device = group.device_of(rank);
    boot.comm_backend = backends[static_cast<std::size_t>(rank)];
    const auto add = [&] { all.push_back(std::make_unique<one_sided_all_to_all>(boot, shape.params, shape.config)); };
    add();
    meeting.arrive_and_wait();
    const auto with_one = room.free_bytes();
    meeting.arrive_and_wait();
    while (all.size() < layers) add();
    meeting.arrive_and_wait();
    EXPECT_GE(room.free_bytes() + (std::size_t{2} << 20), with_one) << "sixty layers take what one takes";
    meeting.arrive_and_wait();
    auto& mine = group.step(rank);
    for (int step = 0; step < 20; ++step) {
      auto& layer = *all[static_cast<std::size_t>(step * 7) % layers];
      ASSERT_EQ(layer.workspace_data(), all[0]->workspace_data());
      mine.upload(make_inputs(shape, rank, step), group.stream(rank));
      group.synchronize(rank);
      meeting.arrive_and_wait();  // copies and kernels that wait apart, as in expect_as_on_host
      mine.dispatch(layer, group.stream(rank));
      mine.download_views(group.stream(rank));
      group.synchronize(rank);
      meeting.arrive_and_wait();
      mine.combine(layer, group.stream(rank));
      group.synchronize(rank);
      mine.download_output(group.stream(rank));
      group.synchronize(rank);
      ASSERT_FALSE(layer.status()) << "rank " << rank << " step " << step;
      expect_same(mine.outcome(), should_be[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)], shape,
                  "rank " + std::to_string(rank) + " step " + std::to_string(step));
      if (step % 5 == 4) {
        all[static_cast<std::size_t>(step)]->checkpoint_prepare();
        EXPECT_THROW(mine.dispatch(layer, group.stream(rank)), state_error);
        all[0]->checkpoint_restore(backends[static_cast<std::size_t>(rank)]);
      }
    }
    // In another order on each rank: the last one frees.
    if (rank % 2 == 0) std::reverse(all.begin(), all.end());
    for (auto& layer : all) layer->destroy();
    meeting.arrive_and_wait();
    EXPECT_GE(room.free_bytes(), with_one) << "the workspaces are gone";
    meeting.arrive_and_wait();
  });
}

}  // namespace switchyard::test
