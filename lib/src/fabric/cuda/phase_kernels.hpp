// SPDX-License-Identifier: Apache-2.0
// The kernels of the phases, by kind of block. Each kind is a source of its own, so that they are compiled side by
// side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/cuda/block_shape.hpp"
#include "protocol/params.hpp"

namespace switchyard::cuda {

using dispatch_kernel_pointer = void (*)(protocol::dispatch_params);
using combine_kernel_pointer = void (*)(protocol::combine_params);

inline constexpr std::size_t num_dtypes = 3;

struct phase_kernels {
  dispatch_kernel_pointer dispatch;
  dispatch_kernel_pointer lamport_dispatch;
  std::array<combine_kernel_pointer, num_dtypes> combine;  ///< by dtype
  std::array<combine_kernel_pointer, num_dtypes> lamport_combine;

  [[nodiscard]] dispatch_kernel_pointer of(const protocol::dispatch_params& params) const {
    return protocol::transport_of(params.words) == transport::lamport ? lamport_dispatch : dispatch;
  }
  [[nodiscard]] combine_kernel_pointer of(const protocol::combine_params& params) const {
    const auto& by_dtype = protocol::transport_of(params.words) == transport::lamport ? lamport_combine : combine;
    return by_dtype.at(static_cast<std::size_t>(params.type));
  }
};

/// Combines in low precision, of every dtype and format, with rank masks or without.
struct quantised_kernels {
  using pointer = void (*)(protocol::quantised_combine_params);
  pointer combine;
  pointer lamport_combine;

  [[nodiscard]] pointer of(const protocol::combine_params& params) const {
    return protocol::transport_of(params.words) == transport::lamport ? lamport_combine : combine;
  }
};
/// `block_threads`: wide_block or narrow_block.
quantised_kernels quantised_kernels_of(std::uint32_t block_threads);

/// Of wide blocks, for workspaces without rank masks and load statistics: these have no code for them, which would cost
/// every step of few tokens half a microsecond (results/h200x2-nv18/LOG.md, 8).
phase_kernels wide_kernels();
/// Of wide blocks, for workspaces that have either.
phase_kernels wide_full_kernels();
/// Of narrow blocks, for both: ranks that share a GPU are there to be checked, not to be fast.
phase_kernels narrow_kernels();

/// The kernels that a fabric runs.
struct kernel_set {
  phase_kernels wide;  ///< of workspaces without rank masks and load statistics
  phase_kernels wide_full;
  phase_kernels narrow;

  /// Those of a workspace of these dimensions. `block_threads`: wide_block or narrow_block.
  [[nodiscard]] const phase_kernels& of(std::uint32_t block_threads, const layout::extents& dims) const {
    if (block_threads == narrow_block) return narrow;
    return dims.rank_masks || dims.eplb_words > 0 ? wide_full : wide;
  }
};
/// What the library runs unless a fabric was given others.
inline kernel_set library_kernels() { return {wide_kernels(), wide_full_kernels(), narrow_kernels()}; }

}  // namespace switchyard::cuda
