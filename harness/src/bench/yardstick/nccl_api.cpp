// SPDX-License-Identifier: Apache-2.0
#include "nccl_api.hpp"

#include <dlfcn.h>

#include <vector>

namespace switchyard::harness {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw nccl_error(std::string("NCCL lacks ") + name);
}

template <class Function>
void find_if_there(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

std::string version_text(int code) {
  // From 2.9 on the code has two digits for the minor version.
  constexpr int thousand = 1000;
  constexpr int major_unit = 10 * thousand;
  if (code < major_unit) return std::to_string(code / thousand) + '.' + std::to_string(code % thousand / 100);
  return std::to_string(code / major_unit) + '.' + std::to_string(code % major_unit / 100) + '.' +
         std::to_string(code % 100);
}

}  // namespace

void nccl_api::check(ncclResult_t result, const char* what) const {
  if (result != ncclSuccess) throw nccl_error(std::string(what) + ": " + get_error_string(result));
}

nccl_api load_nccl(const std::string& file) {
  const auto names = file.empty() ? std::vector<std::string>{"libnccl.so.2", SWITCHYARD_NCCL_LIBRARY_FILE}
                                  : std::vector<std::string>{file};
  void* library = nullptr;
  std::string why;
  for (const auto& name : names) {
    if (name.empty() || library != nullptr) continue;
    library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* reason = library == nullptr ? ::dlerror() : nullptr;  // NOLINT(concurrency-mt-unsafe): of this thread
    if (reason != nullptr && why.empty()) why = reason;
  }
  if (library == nullptr) throw nccl_error("NCCL cannot be loaded: " + why);
  nccl_api api;
  find(library, "ncclGetVersion", api.get_version);
  find(library, "ncclGetErrorString", api.get_error_string);
  find(library, "ncclGetUniqueId", api.get_unique_id);
  find(library, "ncclCommInitRank", api.comm_init_rank);
  find(library, "ncclCommDestroy", api.comm_destroy);
  find(library, "ncclMemAlloc", api.mem_alloc);
  find(library, "ncclMemFree", api.mem_free);
  find(library, "ncclCommRegister", api.comm_register);
  find(library, "ncclCommDeregister", api.comm_deregister);
  find(library, "ncclGroupStart", api.group_start);
  find(library, "ncclGroupEnd", api.group_end);
  find(library, "ncclAllGather", api.all_gather);
  find(library, "ncclReduceScatter", api.reduce_scatter);
  find(library, "ncclSend", api.send);
  find(library, "ncclRecv", api.recv);
  find_if_there(library, "ncclCommWindowRegister", api.window_register);
  find_if_there(library, "ncclCommWindowDeregister", api.window_deregister);
  int code = 0;
  api.check(api.get_version(&code), "version of NCCL");
  api.version = version_text(code);
  return api;
}

}  // namespace switchyard::harness
