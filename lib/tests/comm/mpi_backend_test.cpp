// SPDX-License-Identifier: Apache-2.0
// Run as a job of three ranks (mpirun -n 3), all of which run the same tests in the same order.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "switchyard/mpi_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<int> gather_int(comm_backend& backend, int value, std::chrono::nanoseconds timeout) {
  std::vector<int> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)), timeout);
  return all;
}

/// Whatever a test has left behind, the next one begins on all ranks together.
class mpi_backends : public testing::Test {
 protected:
  void SetUp() override { (void)MPI_Barrier(MPI_COMM_WORLD); }
};

TEST_F(mpi_backends, gather_in_rank_order_round_after_round) {
  const auto backend = make_mpi_backend(seconds(20));
  ASSERT_EQ(backend->size(), 3);
  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(gather_int(*backend, 10 * round + backend->rank(), seconds(20)),
              (std::vector{10 * round, 10 * round + 1, 10 * round + 2}));
    if (round % 3 == 0) backend->barrier(seconds(20));
  }
}

TEST_F(mpi_backends, gather_much) {
  const auto backend = make_mpi_backend(seconds(20));
  constexpr std::size_t bytes = 3'000'001;
  const std::vector<std::byte> mine(bytes, static_cast<std::byte>(backend->rank() + 1));
  std::vector<std::byte> all(3 * bytes);
  backend->allgather(mine, all, seconds(20));
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::byte>(i / bytes + 1)) << i;
}

TEST_F(mpi_backends, all_ranks_know_one_group_by_one_name) {
  const auto one = make_mpi_backend(seconds(20));
  const auto other = make_mpi_backend(seconds(20));
  EXPECT_NE(one->group_id(), other->group_id());
  std::vector<group_id> ids(3);
  const auto own = one->group_id();
  one->allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(ids)), seconds(20));
  EXPECT_EQ(ids, std::vector<group_id>(3, own));
}

TEST_F(mpi_backends, tell_everybody_of_different_sizes_and_go_on) {
  const auto backend = make_mpi_backend(seconds(20));
  for (int round = 0; round < 3; ++round) {
    const std::vector<std::byte> mine(backend->rank() == round ? 7 : 5);
    std::vector<std::byte> all(3 * mine.size());
    EXPECT_THROW(backend->allgather(mine, all, seconds(20)), invalid_argument);
    EXPECT_EQ(gather_int(*backend, backend->rank(), seconds(20)), (std::vector{0, 1, 2}));
  }
}

TEST_F(mpi_backends, name_a_rank_that_does_not_come) {
  const auto backend = make_mpi_backend(seconds(20));
  if (backend->rank() == 1) return std::this_thread::sleep_for(milliseconds(1200));
  rank_set missing{};
  insert(missing, 1);
  for (int call = 0; call < 2; ++call) {
    try {
      backend->barrier(milliseconds(400));
      ADD_FAILURE() << "barrier without rank 1";
    } catch (const peer_fault& e) {
      EXPECT_EQ(e.record().missing, missing) << e.what();
    }
  }
}

TEST_F(mpi_backends, are_made_of_any_communicator) {
  int rank = 0;
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm some = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, rank == 1 ? 1 : 0, -rank, &some), MPI_SUCCESS);  // 2 before 0
  {
    const auto backend = make_mpi_backend_of(static_cast<int>(MPI_Comm_c2f(some)), seconds(20));
    EXPECT_EQ(gather_int(*backend, rank, seconds(20)), rank == 1 ? std::vector{1} : (std::vector{2, 0}));
  }
  (void)MPI_Comm_free(&some);
}

TEST_F(mpi_backends, have_no_parts_and_pass_no_descriptors) {
  const auto backend = make_mpi_backend(seconds(20));
  rank_set all{};
  for (int rank = 0; rank < 3; ++rank) insert(all, rank);
  EXPECT_EQ(backend->part_of(all, seconds(1)), nullptr);
  EXPECT_FALSE(backend->passes_descriptors());
  EXPECT_THROW((void)backend->allgather_descriptors(-1, seconds(1)), unsupported);
}

TEST(mpi_backends_before_mpi, are_refused) { EXPECT_THROW((void)make_mpi_backend(seconds(1)), state_error); }

}  // namespace
}  // namespace switchyard

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::GTEST_FLAG(filter) = "mpi_backends_before_mpi.*";
  const int before = RUN_ALL_TESTS();
  (void)MPI_Init(&argc, &argv);
  testing::GTEST_FLAG(filter) = "mpi_backends.*";
  const int failed = RUN_ALL_TESTS() + before;
  (void)MPI_Finalize();
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
