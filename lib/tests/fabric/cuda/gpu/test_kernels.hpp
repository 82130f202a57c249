// SPDX-License-Identifier: Apache-2.0
// What tests put on a GPU beside the library: work that takes its room, and checks that keep up with it. All enqueue
// on the current device and throw when that fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace switchyard::test {

/// Loads and runs all of them on nothing, on devices 0 .. num_devices-1, and waits. A kernel's first launch may wait
/// for the whole device, so this comes before any rank waits for another.
void load_test_kernels(int num_devices);

/// Takes `multiprocessors` whole ones, adds 1 to *arrived for each, and leaves when *release is not 0, or after 20 s.
/// Both words lie in pinned memory of the host; *arrived is this GPU's alone, for what two add there may be lost.
void launch_holders(int multiprocessors, std::uint32_t* arrived, const std::uint32_t* release, cudaStream_t stream);

/// A stand-in for a collective of another library: blocks that hold their room until the peer's have come to the same
/// `round`. The words lie in pinned memory. Gives up after 10 s and then adds 1 to *given_up.
void launch_meeting(std::uint32_t* mine, const std::uint32_t* peers, std::uint32_t round, std::uint32_t* given_up,
                    cudaStream_t stream);

enum class start : std::uint8_t { after_the_launch_before, early };
/// Copies; where it may start early it still reads only what the launch before it has finished.
void launch_copy(std::byte* to, const std::byte* from, std::size_t bytes, start when, cudaStream_t stream);

/// Memory that a zombie goes on storing to.
struct haunted_places {
  static constexpr int most = 32;
  std::byte* places[most];
  std::uint64_t bytes[most];  ///< multiples of 16, as the places are
  int count;
};
/// Stores `value` into every byte of the places again and again, until *release is not 0, or for 20 s. Adds 1 to
/// *rounds each time that a block has been through. Both words lie in pinned memory of the host.
void launch_zombie(const haunted_places& places, std::byte value, std::uint32_t* rounds, const std::uint32_t* release,
                   cudaStream_t stream);

/// Fills with `value`, by a kernel of this file: the runtime's own may be loaded on first use, and wait for the device.
void launch_fill(std::byte* place, std::byte value, std::size_t bytes, cudaStream_t stream);

/// Adds to *wrong how many of `rows` differ in the two places.
void launch_compare(const std::byte* rows, const std::byte* expected, std::size_t row_bytes, std::size_t num_rows,
                    std::uint64_t* wrong, cudaStream_t stream);

/// Expert rows of bf16 from rows of 0 and 1: 0 and `factor`'s bits; anything else becomes NaN.
void launch_scale(std::uint16_t* out, const std::uint16_t* rows, std::size_t elements, std::uint16_t factor,
                  cudaStream_t stream);

/// Words that differ from place to place; no 16 bits of them are a NaN or an infinity of bf16.
void launch_pattern(std::uint32_t* out, std::size_t words, std::uint32_t seed, cudaStream_t stream);
/// Adds to *wrong how many words are not those of launch_pattern.
void launch_check_pattern(const std::uint32_t* words, std::size_t count, std::uint32_t seed, std::uint64_t* wrong,
                          cudaStream_t stream);

}  // namespace switchyard::test
