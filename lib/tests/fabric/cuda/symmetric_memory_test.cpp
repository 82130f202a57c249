// SPDX-License-Identifier: Apache-2.0
// Addresses, mappings and books of one rank's view, on a driver without a device.
#include "fabric/cuda/symmetric_memory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>

#include "mock_driver.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

using test::mock_driver;

TEST(symmetric_memory, slices_are_one_after_another_and_rounded_up) {
  mock_driver driver;
  const auto api = mock_driver::api();
  const symmetric_memory memory(api, 0, 1, 3, (1 << 16) + 1);
  EXPECT_EQ(memory.slice_bytes(), 2U << 16);
  EXPECT_EQ(memory.slice(2) - memory.slice(0), 4 << 16);
  EXPECT_EQ(driver.live_allocations(), 0) << "addresses alone take no memory";
}

TEST(symmetric_memory, a_peer_that_maps_it_keeps_the_memory_alive) {
  mock_driver driver;
  const auto api = mock_driver::api();
  auto owner = std::make_unique<symmetric_memory>(api, 0, 0, 2, 100);
  symmetric_memory peer(api, 1, 1, 2, 100);
  owner->back(handle_kind::posix_descriptor);
  auto exported = owner->export_slice();
  peer.map_peer(0, exported);
  close_slice_handle(api, exported);
  EXPECT_EQ(driver.open_descriptors(), 0);
  const auto memory = driver.mapped_at(owner->slice(0));
  EXPECT_NE(memory, 0U);
  EXPECT_EQ(driver.mapped_at(peer.slice(0)), memory);
  owner.reset();
  EXPECT_EQ(driver.mapped_at(peer.slice(0)), memory);
  EXPECT_EQ(driver.live_allocations(), 1);
}

TEST(symmetric_memory, remapping_puts_new_memory_at_the_same_addresses) {
  mock_driver driver;
  const auto api = mock_driver::api();
  symmetric_memory memory(api, 0, 0, 2, 100);
  memory.back(handle_kind::posix_descriptor);
  auto* const address = memory.slice(0);
  const auto before = driver.mapped_at(address);
  memory.unback();
  memory.unback();
  EXPECT_EQ(driver.mapped_at(address), 0U);
  EXPECT_EQ(driver.live_allocations(), 0);
  memory.back(handle_kind::posix_descriptor);
  EXPECT_EQ(memory.slice(0), address);
  EXPECT_NE(driver.mapped_at(address), before);
}

// As a checkpoint does: what was backed once is backed anew by the way that replaces memory.
TEST(symmetric_memory, what_was_taken_away_comes_back_at_the_same_addresses) {
  mock_driver driver;
  const auto api = mock_driver::api();
  symmetric_memory owner(api, 0, 0, 2, 100);
  symmetric_memory peer(api, 1, 1, 2, 100);
  owner.back(handle_kind::posix_descriptor);
  auto exported = owner.export_slice();
  peer.map_peer(0, exported);
  close_slice_handle(api, exported);
  auto* const address = owner.slice(0);
  for (int round = 0; round < 3; ++round) {
    owner.take_away();
    peer.take_away();
    peer.take_away();
    EXPECT_FALSE(owner.is_backed());
    EXPECT_EQ(driver.live_allocations(), 0);
    EXPECT_EQ(driver.live_mappings(), 0);
    EXPECT_EQ(driver.open_descriptors(), 0);
    owner.prepare();
    exported = owner.export_slice();
    peer.prepare_peer(0, exported);
    close_slice_handle(api, exported);
    owner.remap();
    peer.remap();
    EXPECT_EQ(owner.slice(0), address);
    EXPECT_NE(driver.mapped_at(address), 0U);
    EXPECT_EQ(driver.mapped_at(peer.slice(0)), driver.mapped_at(address));
    EXPECT_EQ(driver.live_allocations(), 1);
  }
}

TEST(symmetric_memory, says_when_memory_cannot_be_taken_away_and_takes_the_rest) {
  for (const auto* operation : {"unmap", "release"}) {
    mock_driver driver;
    const auto api = mock_driver::api();
    symmetric_memory memory(api, 0, 0, 2, 100);
    memory.back(handle_kind::posix_descriptor);
    driver.fail_at = operation;
    driver.failures_left = 1;
    EXPECT_THROW(memory.take_away(), cuda_error) << operation;
    EXPECT_FALSE(memory.is_backed()) << operation;
    EXPECT_NO_THROW(memory.take_away()) << operation;
  }
}

TEST(symmetric_memory, what_cannot_be_mapped_again_is_not_backed_and_may_be_tried_again) {
  mock_driver driver;
  const auto api = mock_driver::api();
  symmetric_memory memory(api, 0, 0, 2, 100);
  memory.back(handle_kind::posix_descriptor);
  memory.take_away();
  memory.prepare();
  driver.fail_at = "map";
  driver.failures_left = 1;
  EXPECT_THROW(memory.remap(), cuda_error);
  EXPECT_FALSE(memory.is_backed());
  memory.remap();
  EXPECT_TRUE(memory.is_backed());
  EXPECT_EQ(driver.live_allocations(), 1);
}

// The attribute says yes; allocation says no. A probe that leaves something behind would show here as well.
TEST(symmetric_memory, b26_a_capability_bit_is_not_a_permission) {
  mock_driver driver;
  const auto api = mock_driver::api();
  EXPECT_FALSE(fabric_handles_work(api, 0));
  driver.fabric_attribute_lies = false;
  EXPECT_TRUE(fabric_handles_work(api, 0));
  EXPECT_EQ(driver.largest_allocation(), driver.granularity) << "the probe takes the least there is";
  driver.fail_at = "export";
  EXPECT_FALSE(fabric_handles_work(api, 0));
  EXPECT_TRUE(driver.nothing_left());
}

/// Every operation, failing at its first and at its second use, in a life with all of them.
class symmetric_memory_failure : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(symmetric_memory_failure, leaves_nothing_behind) {
  mock_driver driver;
  const auto api = mock_driver::api();
  std::tie(driver.fail_at, driver.fail_after) = GetParam();
  driver.failure = driver.fail_at == "create" ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  slice_handle exported;
  try {
    symmetric_memory owner(api, 0, 0, 2, 100);
    symmetric_memory peer(api, 1, 1, 2, 100);
    owner.back(handle_kind::posix_descriptor);
    peer.back(handle_kind::posix_descriptor);
    exported = owner.export_slice();
    peer.map_peer(0, exported);
    close_slice_handle(api, exported);
    exported = peer.export_slice();
    owner.map_peer(1, exported);
    ADD_FAILURE() << driver.fail_at << " did not fail";
  } catch (const out_of_memory& e) {
    EXPECT_EQ(driver.fail_at, "create") << e.what();
  } catch (const cuda_error& e) {
    EXPECT_NE(std::string(e.what()).find("MOCK_ERROR"), std::string::npos) << e.what();
  }
  close_slice_handle(api, exported);
  EXPECT_EQ(driver.live_mappings(), 0);
  EXPECT_EQ(driver.live_allocations(), 0);
  EXPECT_EQ(driver.live_reservations(), 0);
}

INSTANTIATE_TEST_SUITE_P(each_operation, symmetric_memory_failure,
                         testing::Combine(testing::Values("granularity", "reserve", "create", "map", "access", "export",
                                                          "import"),
                                          testing::Values(0, 1)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param)) + "_" +
                                  std::to_string(std::get<1>(tested.param));
                         });

}  // namespace
}  // namespace switchyard::cuda
