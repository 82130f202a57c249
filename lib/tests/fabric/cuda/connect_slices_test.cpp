// SPDX-License-Identifier: Apache-2.0
// Ranks that back and map each other's slices, or refuse together, on a driver without a device.
#include "fabric/cuda/connect_slices.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "mock_driver.hpp"
#include "support/host_group.hpp"

namespace switchyard::cuda {
namespace {

using test::mock_driver;
using test::on_every_rank;

constexpr auto patience = std::chrono::seconds(20);

/// Three ranks on two devices: ranks 0 and 1 on device 0, rank 2 on device 1.
struct three_ranks {
  std::vector<std::shared_ptr<comm_backend>> backends = make_in_process_backends(3);
  static int device_of(int rank) { return rank == 2 ? 1 : 0; }
  comm_backend& operator[](int rank) { return *backends[static_cast<std::size_t>(rank)]; }
};

TEST(connect_slices, every_rank_maps_every_other) {
  mock_driver driver;
  const auto api = mock_driver::api();
  three_ranks ranks;
  std::vector<std::unique_ptr<symmetric_memory>> views(3);
  std::atomic<int> initialised{0};
  on_every_rank(3, [&](int rank) {
    const auto place = survey_group(ranks[rank], api, {three_ranks::device_of(rank)}, patience);
    EXPECT_EQ(place.kind, handle_kind::posix_descriptor);
    EXPECT_EQ(place.ranks_on_device, rank == 2 ? 1 : 2);
    auto& view = views[static_cast<std::size_t>(rank)];
    view = std::make_unique<symmetric_memory>(api, three_ranks::device_of(rank), rank, 3, 100);
    connect_slices(
        ranks[rank], api, *view, place, [&] { ++initialised; }, patience);
    EXPECT_EQ(initialised, 3) << "connected before every slice was initialised";
  });
  for (int owner = 0; owner < 3; ++owner) {
    for (const auto& view : views) {
      EXPECT_EQ(driver.mapped_at(view->slice(owner)), driver.mapped_at(views[0]->slice(owner))) << "slice " << owner;
    }
  }
  EXPECT_EQ(driver.open_descriptors(), 0);
  EXPECT_EQ(driver.live_allocations(), 3);
  views.clear();
  EXPECT_TRUE(driver.nothing_left());
}

TEST(connect_slices, fabric_handles_are_taken_when_every_rank_can) {
  mock_driver driver;
  driver.fabric_attribute_lies = false;
  const auto api = mock_driver::api();
  three_ranks ranks;
  on_every_rank(3, [&](int rank) {
    const auto place = survey_group(ranks[rank], api, {three_ranks::device_of(rank)}, patience);
    EXPECT_EQ(place.kind, handle_kind::fabric);
    symmetric_memory view(api, three_ranks::device_of(rank), rank, 3, 100);
    connect_slices(
        ranks[rank], api, view, place, [] {}, patience);
    ranks[rank].barrier(patience);
  });
  EXPECT_TRUE(driver.nothing_left());
}

TEST(connect_slices, b26_a_pair_without_peer_access_is_named_before_any_memory_is_taken) {
  mock_driver driver;
  driver.pairs_without_access = {{1, 0}};
  const auto api = mock_driver::api();
  three_ranks ranks;
  on_every_rank(3, [&](int rank) {
    try {
      (void)survey_group(ranks[rank], api, {three_ranks::device_of(rank)}, patience);
      ADD_FAILURE() << "rank " << rank << " went on";
    } catch (const unsupported& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find("rank 2: device 1 has no peer access to rank(s) 0 (device 0), 1 (device 0)"),
                std::string::npos)
          << text;
    }
  });
  EXPECT_EQ(driver.largest_allocation(), 0U);
}

TEST(connect_slices, one_rank_without_memory_stops_all_and_nothing_is_left) {
  for (const char* operation : {"create", "export", "map", "import", "access"}) {
    mock_driver driver;
    const auto api = mock_driver::api();
    driver.fail_at = operation;
    driver.fail_after = 2;  // two ranks get through this operation, one does not
    driver.failure = CUDA_ERROR_OUT_OF_MEMORY;
    three_ranks ranks;
    on_every_rank(3, [&](int rank) {
      symmetric_memory view(api, three_ranks::device_of(rank), rank, 3, 100);
      EXPECT_THROW(connect_slices(
                       ranks[rank], api, view, {}, [] {}, patience),
                   out_of_memory)
          << operation << " rank " << rank;
      EXPECT_EQ(driver.mapped_at(view.slice(rank)), 0U) << operation << " rank " << rank;
    });
    EXPECT_TRUE(driver.nothing_left()) << operation;
  }
}

}  // namespace
}  // namespace switchyard::cuda
