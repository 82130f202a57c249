// SPDX-License-Identifier: Apache-2.0
// Where and with what a run happened: what a record needs to be understood later. No host name, no user, nothing of
// the process environment.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace switchyard::harness {

struct environment {
  std::string version;
  std::string git_commit;         ///< of the sources when they were configured; empty: not known
  std::optional<bool> git_dirty;  ///< whether they differed from that commit
  std::string compiler;
  std::string build_type;
  std::string sanitizers;  ///< as for -fsanitize=; empty: none
  std::string machine;     ///< x86_64, aarch64
  std::string kernel;
  std::string cpu_model;  ///< empty: the system does not say
  int cpu_cores = 0;      ///< that this process may use
  std::uint64_t memory_bytes = 0;
  std::uint64_t page_bytes = 0;
};

/// Never throws for what cannot be found out; such a member stays empty or 0.
environment read_environment();

/// Empty and 0 become null.
nlohmann::ordered_json to_json(const environment& where);

/// What may differ from rank to rank: the machine, and the variables of the process environment that records name.
nlohmann::ordered_json rank_environment_json(const environment& where);

}  // namespace switchyard::harness
