// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that the yardsticks call, found in a library that is loaded at run time.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace switchyard::harness {

class nccl_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Older headers do not know windows.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
using nccl_window = ncclWindow_t;
inline constexpr int nccl_symmetric = NCCL_WIN_COLL_SYMMETRIC;
#else
using nccl_window = void*;
inline constexpr int nccl_symmetric = 1;
#endif

struct nccl_api {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclMemAlloc) mem_alloc = nullptr;
  decltype(&ncclMemFree) mem_free = nullptr;
  decltype(&ncclCommRegister) comm_register = nullptr;
  decltype(&ncclCommDeregister) comm_deregister = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;
  // Null before 2.27.
  ncclResult_t (*window_register)(ncclComm_t, void*, std::size_t, nccl_window*, int) = nullptr;
  ncclResult_t (*window_deregister)(ncclComm_t, nccl_window) = nullptr;
  std::string version;

  /// Throws nccl_error naming `what`.
  void check(ncclResult_t result, const char* what) const;
};

/// Loads `file`; empty: libnccl.so.2 as the loader finds it, then where the build found it. The library stays loaded.
/// Throws nccl_error.
nccl_api load_nccl(const std::string& file);

}  // namespace switchyard::harness
