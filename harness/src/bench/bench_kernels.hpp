// SPDX-License-Identifier: Apache-2.0
// The kernels of the bench as host code sees them. All enqueue on the current device and throw cuda_error.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "../run/cuda/gpu_lane.hpp"
#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

/// One rank's words that peers store to, and the peers'. Each word lies on a line of its own.
struct signal_words {
  static constexpr std::uint64_t spacing = 16;  ///< 64-bit words of a line of 128 bytes
  std::array<std::uint64_t*, most_bench_ranks> of_rank{};
  int rank = 0;
  int ranks = 1;
};

/// Ends when every rank has enqueued its gate of the same `epoch`, or after 3 s: what follows starts together, with
/// everything behind it queued already.
void launch_gate(const signal_words& words, std::uint64_t epoch, cudaStream_t stream);
/// Copies with 16-byte accesses; either side may lie at a peer.
void launch_copy(std::byte* out, const std::byte* in, std::uint64_t bytes, cudaStream_t stream);

enum class flag_order : std::uint8_t { relaxed, ordered };
/// `rounds` exchanges of a flag between this rank and `peer`; writes their time, or 0 when the peer did not come.
void launch_ping_pong(const signal_words& words, int peer, std::uint64_t rounds, flag_order order,
                      std::uint64_t* took_ns, cudaStream_t stream);
/// `rounds` exchanges between this rank and `peer`, each with the clock read: the lower rank writes when it sent and
/// when the answer came (2 words a round), the higher one when it answered (1 word a round). times[0] = 0: no peer
/// came.
void launch_clock_exchange(const signal_words& words, int peer, std::uint64_t rounds, std::uint64_t* times,
                           cudaStream_t stream);
/// Adds to `wrong` how many 4-byte words differ.
void launch_comparison(const std::byte* a, const std::byte* b, std::uint64_t bytes, unsigned long long* wrong,
                       cudaStream_t stream);
void launch_empty(cudaStream_t stream);
/// Writes the clock.
void launch_stamp(std::uint64_t* at, cudaStream_t stream);
/// The smallest step of the clock that was seen.
void launch_tick(std::uint64_t* tick_ns, cudaStream_t stream);
/// Rows of expert_element: [rows, elements].
void launch_expert_rows(std::byte* out, std::uint32_t rank, std::uint64_t rows, std::uint64_t elements,
                        cudaStream_t stream);

}  // namespace switchyard::harness
