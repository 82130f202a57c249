// SPDX-License-Identifier: Apache-2.0
// What the blocks of the CUDA fabric are made of, for those who write them and for those who count them.
#pragma once

#include <cstdint>

namespace switchyard::cuda {

/// Threads of a block. Wide, for a rank alone on its GPU: a row of 7168 bf16 is less than two 16-byte accesses a
/// thread. Narrow, for ranks that share one: a warp a row, copied by the engine for bulk copies.
inline constexpr std::uint32_t wide_block = 512;
inline constexpr std::uint32_t narrow_block = 128;
/// Registers of a thread are held to what lets these many blocks be on a multiprocessor.
constexpr std::uint32_t least_blocks_per_multiprocessor(std::uint32_t block_threads) {
  return block_threads == wide_block ? 2 : 3;
}

/// What the code of a block is for.
enum class block_kind : std::uint8_t {
  plain,      ///< workspaces without rank masks and load statistics: it has none of their code
  full,       ///< those that have either, too
  unchecked,  ///< as plain, and takes headers as they come: for measuring what comparing them costs, and nothing else
};

/// Shared memory through which a warp of a narrow block copies: a stage for each piece of a slab.
inline constexpr std::uint32_t bulk_stage_bytes = 4096;
inline constexpr std::uint32_t bulk_stage_count = 4;
inline constexpr std::uint32_t bulk_bytes_of_warp = bulk_stage_bytes * bulk_stage_count;
inline constexpr std::uint32_t least_bulk_bytes = 1024;  ///< shorter rows are copied by loads and stores
constexpr std::uint32_t stage_bytes_of_block(std::uint32_t block_threads) {
  return block_threads == narrow_block ? block_threads / 32 * bulk_bytes_of_warp : 0;
}

/// Scratch that a block may have to route all tokens at once. The stages of a narrow one leave none.
constexpr std::uint64_t most_bytes_to_route_all(std::uint32_t block_threads) {
  return block_threads == narrow_block ? 0 : 32 << 10;
}

/// Blocks that a multiprocessor has room for.
struct kernel_room {
  int wide = 0;
  int narrow = 0;
};

/// Bytes of shared memory for the scratch of a block that does not route all tokens at once, by phase.
struct scratch_need {
  std::uint64_t dispatch = 0;
  std::uint64_t combine = 0;
};

}  // namespace switchyard::cuda
