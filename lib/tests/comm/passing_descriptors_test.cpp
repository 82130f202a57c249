// SPDX-License-Identifier: Apache-2.0
// File descriptors between processes, and what happens where there can be no more of them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "comm/rank_processes.hpp"

namespace switchyard {
namespace {

using namespace test;
using std::chrono::seconds;

unique_descriptor new_memory(int rank) {
  unique_descriptor memory(::memfd_create("slice", MFD_CLOEXEC));
  require(::ftruncate(memory.get(), 4096) == 0, "ftruncate");
  require(::pwrite(memory.get(), &rank, sizeof(rank), 0) == sizeof(rank), "pwrite");
  return memory;
}

void close_all(const std::vector<int>& descriptors) {
  for (const int each : descriptors) (void)::close(each);
}

/// So that this process may open `count` more.
rlim_t limit_that_leaves(int count) {
  std::vector<unique_descriptor> filling;
  for (int i = 0; i <= count; ++i) filling.emplace_back(::fcntl(0, F_DUPFD_CLOEXEC, 0));
  return static_cast<rlim_t>(filling.back().get());
}

void limit_descriptors(rlim_t limit) {
  const rlimit both{limit, limit};
  require(::setrlimit(RLIMIT_NOFILE, &both) == 0, "setrlimit");
}

TEST(passing_descriptors, memory_that_one_process_writes_is_read_by_all_others) {
  const meeting_place place(socket_kind::unix_socket);
  constexpr int size = 16;
  rank_processes ranks(size, [&](int rank) {
    const auto backend = place.make(rank, size);
    auto memory = new_memory(rank);
    const auto all = backend->allgather_descriptors(memory.get(), seconds(40));
    memory = {};  // the others' copies live on
    const int back = 100 + rank;
    for (int peer = 0; peer < size; ++peer) {
      const int theirs = all[static_cast<std::size_t>(peer)];
      int read = -1;
      require(::pread(theirs, &read, sizeof(read), 0) == sizeof(read) && read == peer, "another's memory");
      const auto place_of_rank = static_cast<off_t>(sizeof(int)) * (1 + rank);
      require(::pwrite(theirs, &back, sizeof(back), place_of_rank) == sizeof(back), "pwrite");
    }
    backend->barrier(seconds(40));
    for (int peer = 0; peer < size; ++peer) {  // one-sided: the peers have written here
      int read = -1;
      const auto place_of_peer = static_cast<off_t>(sizeof(int)) * (1 + peer);
      (void)::pread(all[static_cast<std::size_t>(rank)], &read, sizeof(read), place_of_peer);
      require(read == 100 + peer, "a peer's write did not arrive");
    }
    close_all(all);
  });
  ranks.expect_all_well();
}

/// The kernel lets a user without privileges have only so many descriptors on their way at a time.
TEST(passing_descriptors, goes_on_where_the_kernel_takes_only_some_at_a_time) {
  if (::geteuid() != 0) GTEST_SKIP() << "the ranks' user must have nothing else on its way: needs root to change it";
  const meeting_place place(socket_kind::unix_socket);
  constexpr int size = 24;
  rank_processes ranks(size, [&](int rank) {
    require(::setuid(54321) == 0, "setuid");
    limit_descriptors(100);  // and 24 * 23 are sent
    const auto backend = place.make(rank, size);
    const auto memory = new_memory(rank);
    for (int round = 0; round < 5; ++round) {
      const auto all = backend->allgather_descriptors(memory.get(), seconds(40));
      for (int peer = 0; peer < size; ++peer) {
        int read = -1;
        (void)::pread(all[static_cast<std::size_t>(peer)], &read, sizeof(read), 0);
        require(read == peer, "another's memory");
      }
      close_all(all);
    }
  });
  ranks.expect_all_well();
}

TEST(passing_descriptors, where_a_process_may_have_no_more_it_says_so_and_the_others_go_on) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers open a pipe to look whether memory is there, and take it for a fault if they cannot";
#endif
  const meeting_place place(socket_kind::unix_socket);
  const shared<std::atomic<int>> limited;
  const shared<std::atomic<int>> done;
  rank_processes ranks(4, [&](int rank) {
    const auto memory = new_memory(rank);
    const int before = num_open_descriptors() + 3;
    const auto backend = place.make(rank, 4);
    rlimit allowed{};
    (void)::getrlimit(RLIMIT_NOFILE, &allowed);
    if (rank == 2) {
      auto few = allowed;
      few.rlim_cur = limit_that_leaves(2);  // its own, kept while it travels, and one that comes
      require(::setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
      ++*limited.operator->();
      require_error<unsupported>("may have no more file descriptors",
                                 [&] { (void)backend->allgather_descriptors(memory.get(), seconds(40)); });
      require(::setrlimit(RLIMIT_NOFILE, &allowed) == 0, "setrlimit");
    } else {
      await(*limited.operator->(), 1);  // what is sent before may be there already
      close_all(backend->allgather_descriptors(memory.get(), seconds(40)));
    }
    require_open_descriptors(before);
    backend->barrier(seconds(40));
    close_all(backend->allgather_descriptors(memory.get(), seconds(40)));
    require_open_descriptors(before);
    ++*done.operator->();
    await(*done.operator->(), 4);  // nobody's end may be seen before
  });
  ranks.expect_all_well();
}

TEST(passing_descriptors, is_another_call_than_gathering_bytes) {
  const meeting_place place(socket_kind::unix_socket);
  rank_processes ranks(3, [&](int rank) {
    const int before = num_open_descriptors() + 2;
    const auto backend = place.make(rank, 3);
    require_error<invalid_argument>("descriptors", [&] {
      if (rank == 1) return backend->barrier(seconds(40));
      close_all(backend->allgather_descriptors(0, seconds(40)));
    });
    require_open_descriptors(before);
    backend->barrier(seconds(40));
  });
  ranks.expect_all_well();
}

}  // namespace
}  // namespace switchyard
