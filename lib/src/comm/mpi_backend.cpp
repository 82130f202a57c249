// SPDX-License-Identifier: Apache-2.0
// Messages between every two ranks, not MPI's own gathering, which does not say whose part has not come.
#include "switchyard/mpi_backend.hpp"

#include <mpi.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/absence.hpp"
#include "comm/deadline.hpp"
#include "comm/group_identity.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

/// Between looks at whether messages have come.
constexpr std::chrono::microseconds pause_between_tests(20);
constexpr std::size_t most_message_bytes = INT_MAX;

void check_mpi(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::vector<char> text(MPI_MAX_ERROR_STRING + 1);
  int length = 0;
  (void)MPI_Error_string(result, text.data(), &length);
  throw error(std::string("comm backend: ") + call + ": " + text.data());
}

void check_mpi_runs() {
  int is_initialised = 0;
  int is_finalised = 0;
  (void)MPI_Initialized(&is_initialised);
  (void)MPI_Finalized(&is_finalised);
  if (is_initialised == 0) throw state_error("comm backend: MPI is not initialised, must be");
  if (is_finalised != 0) throw state_error("comm backend: MPI is already finalised, must not be");
}

/// One message from and to every other rank. MPI writes to it until all have come.
struct exchange_buffers {
  std::vector<std::byte> mine;
  std::vector<std::byte> all;         ///< by rank
  std::vector<MPI_Request> received;  ///< by rank; this rank's own is null
  std::vector<MPI_Request> sent;
};

class mpi_backend final : public comm_backend {
 public:
  mpi_backend(MPI_Comm parent, const comm::deadline& until) {
    check_mpi(MPI_Comm_rank(parent, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(parent, &size_), "MPI_Comm_size");
    comm::check_place(rank_, size_);
    own_communicator(parent, until);
    const auto id = comm::new_group_id();
    const auto ids = exchange(std::as_bytes(std::span(&id, 1)), until);
    std::memcpy(&id_, ids.data(), sizeof(id_));
    // Nobody returns, and perhaps throws on, before all have been named.
    (void)exchange(std::as_bytes(std::span(&rank_, 1)), until);
  }

  mpi_backend(const mpi_backend&) = delete;
  mpi_backend& operator=(const mpi_backend&) = delete;

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] switchyard::group_id group_id() const noexcept override { return id_; }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) override {
    if (all.size() != mine.size() * static_cast<std::size_t>(size_)) {
      throw invalid_argument("comm backend: the gathered array has " + std::to_string(all.size()) +
                             " bytes, must have size() * " + std::to_string(mine.size()));
    }
    if (mine.size() > most_message_bytes) {
      throw invalid_argument("comm backend: a rank gathers " + std::to_string(mine.size()) +
                             " bytes, must be at most " + std::to_string(most_message_bytes));
    }
    check_mpi_runs();
    const comm::deadline until(timeout);
    // First how much everybody has: MPI must know what comes, and all must find out where two differ.
    const std::uint64_t bytes = mine.size();
    const auto told = exchange(std::as_bytes(std::span(&bytes, 1)), until);
    for (int peer = 0; peer < size_; ++peer) {
      std::uint64_t theirs = 0;
      std::memcpy(&theirs, told.data() + static_cast<std::size_t>(peer) * sizeof(theirs), sizeof(theirs));
      if (theirs == bytes) continue;
      throw invalid_argument("comm backend: rank " + std::to_string(rank_) + " gathers " + std::to_string(bytes) +
                             " bytes and rank " + std::to_string(peer) + " " + std::to_string(theirs) +
                             ", must be as many as every other rank");
    }
    if (mine.empty()) return;
    const auto gathered = exchange(mine, until);
    std::memcpy(all.data(), gathered.data(), gathered.size());
  }

  void barrier(std::chrono::nanoseconds timeout) override { allgather({}, {}, timeout); }

 private:
  /// Collective over the parent; none of its ranks can be told apart until it is there.
  void own_communicator(MPI_Comm parent, const comm::deadline& until) {
    MPI_Request request = MPI_REQUEST_NULL;
    // MPI writes to it when the last rank has come, should that be after this rank has given up.
    auto own = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
    check_mpi(MPI_Comm_idup(parent, own.get(), &request), "MPI_Comm_idup");
    for (int done = 0;;) {
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) break;
      if (until.has_passed()) {
        (void)own.release();
        rank_set others{};
        for (int peer = 0; peer < size_; ++peer) {
          if (peer != rank_) insert(others, peer);
        }
        comm::throw_absence(comm::late(others, until), "one of them, or several: MPI does not tell which");
      }
      std::this_thread::sleep_for(pause_between_tests);
    }
    own_ = *own;
    check_mpi(MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }

  /// Everybody's bytes, as many as this rank's, by rank.
  std::vector<std::byte> exchange(std::span<const std::byte> mine, const comm::deadline& until) {
    if (broken_) comm::throw_absence(*broken_);
    const auto bytes = mine.size();
    const auto num_ranks = static_cast<std::size_t>(size_);
    auto buffers = std::make_unique<exchange_buffers>();
    buffers->mine.assign(mine.begin(), mine.end());
    buffers->all.resize(num_ranks * bytes);
    buffers->received.assign(num_ranks, MPI_REQUEST_NULL);
    buffers->sent.assign(num_ranks, MPI_REQUEST_NULL);
    for (int peer = 0; peer < size_; ++peer) {
      const auto index = static_cast<std::size_t>(peer);
      if (peer == rank_) {
        std::memcpy(buffers->all.data() + index * bytes, mine.data(), bytes);
        continue;
      }
      check_mpi(MPI_Irecv(buffers->all.data() + index * bytes, static_cast<int>(bytes), MPI_BYTE, peer, 0, own_,
                          &buffers->received[index]),
                "MPI_Irecv");
      check_mpi(
          MPI_Isend(buffers->mine.data(), static_cast<int>(bytes), MPI_BYTE, peer, 0, own_, &buffers->sent[index]),
          "MPI_Isend");
    }
    for (bool in_time = true;; in_time = !until.has_passed()) {
      const auto missing = missing_of(*buffers);
      if (missing == rank_set{}) return std::move(buffers->all);
      if (!in_time) {
        (void)buffers.release();  // MPI may write to them as long as it runs
        broken_ = comm::late(missing, until);
        comm::throw_absence(*broken_);
      }
      std::this_thread::sleep_for(pause_between_tests);
    }
  }

  rank_set missing_of(exchange_buffers& buffers) const {
    rank_set missing{};
    for (int peer = 0; peer < size_; ++peer) {
      const auto index = static_cast<std::size_t>(peer);
      int received = 0;
      int sent = 0;
      check_mpi(MPI_Test(&buffers.received[index], &received, MPI_STATUS_IGNORE), "MPI_Test");
      check_mpi(MPI_Test(&buffers.sent[index], &sent, MPI_STATUS_IGNORE), "MPI_Test");
      if (received == 0 || sent == 0) insert(missing, peer);
    }
    return missing;
  }

  int rank_ = 0;
  int size_ = 1;
  switchyard::group_id id_{};
  /// Never freed: that is a collective call, and messages of a rank that this one did not wait for may still come by
  /// it.
  MPI_Comm own_ = MPI_COMM_NULL;
  std::optional<comm::absence> broken_;
};

}  // namespace

std::shared_ptr<comm_backend> make_mpi_backend(std::chrono::nanoseconds timeout) {
  check_mpi_runs();
  return std::make_shared<mpi_backend>(MPI_COMM_WORLD, comm::deadline(timeout));
}

std::shared_ptr<comm_backend> make_mpi_backend_of(int communicator, std::chrono::nanoseconds timeout) {
  check_mpi_runs();
  return std::make_shared<mpi_backend>(MPI_Comm_f2c(communicator), comm::deadline(timeout));
}

}  // namespace switchyard
