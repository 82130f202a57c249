// SPDX-License-Identifier: Apache-2.0
#include "mpi_job.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/harness/job.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/mpi_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::tools {
namespace {

/// What each process tells the others.
struct told {
  std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
  std::uint64_t token = 0;
  std::uint16_t port = 0;
};

class initialised_mpi {
 public:
  initialised_mpi() {
    if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) throw harness::environment_error("--launch mpi: MPI does not start");
  }
  ~initialised_mpi() { (void)MPI_Finalize(); }
  initialised_mpi(const initialised_mpi&) = delete;
  initialised_mpi& operator=(const initialised_mpi&) = delete;
};

class mpi_world final : public mpi_job {
 public:
  explicit mpi_world(std::chrono::nanoseconds limit) {
    const auto backend = make_mpi_backend(limit);
    told mine;
    int length = 0;
    (void)MPI_Get_processor_name(mine.host.data(), &length);
    if (backend->rank() == 0) {
      mine.token = std::random_device{}();
      listener_ = harness::listen_at_free_ports(mine.port);
    }
    std::vector<told> all(static_cast<std::size_t>(backend->size()));
    backend->allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), limit);
    place_.launcher = "mpi";
    place_.rank = backend->rank();
    place_.size = backend->size();
    const auto is_here = [&](const told& other) { return std::strcmp(other.host.data(), mine.host.data()) == 0; };
    place_.local_size = static_cast<int>(std::ranges::count_if(all, is_here));
    place_.local_rank = static_cast<int>(std::count_if(all.begin(), all.begin() + place_.rank, is_here));
    const bool one_host = place_.local_size == place_.size;
    place_.host = one_host ? "127.0.0.1" : std::string(all.front().host.data());
    place_.port = all.front().port;
    place_.job = std::to_string(all.front().token);
  }
  ~mpi_world() override {
    if (listener_ >= 0) (void)::close(listener_);
  }

  [[nodiscard]] const harness::launched_process& place() const override { return place_; }
  [[nodiscard]] int take_listener() override { return std::exchange(listener_, -1); }

 private:
  initialised_mpi mpi_;
  harness::launched_process place_;
  int listener_ = -1;
};

}  // namespace

bool mpi_is_built() noexcept { return true; }

std::unique_ptr<mpi_job> join_mpi_job(std::chrono::nanoseconds limit) {
  try {
    return std::make_unique<mpi_world>(limit);
  } catch (const error& failure) {
    throw harness::environment_error(std::string("--launch mpi: ") + failure.what());
  }
}

}  // namespace switchyard::tools
