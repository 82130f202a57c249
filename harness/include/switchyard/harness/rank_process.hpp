// SPDX-License-Identifier: Apache-2.0
// The process of one rank: it does what the supervisor of its group asks for, case by case, until it is told to quit.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/machine.hpp"

namespace switchyard::harness {

/// Says to a process that it is one of a rank, and which: RANK:DESCRIPTOR:LOCAL_RANK:LOCAL_SIZE. The descriptor is of a
/// socket to the supervisor; the process has the arguments of the one that has started it.
inline constexpr const char* rank_process_variable = "SWITCHYARD_RANK_PROCESS";

struct rank_process_place {
  int rank = 0;
  int descriptor = -1;
  int local_rank = 0;  ///< among the ranks of this host
  int local_size = 1;
};

/// Nothing where the variable is not set. Takes it away, so that what this process starts is none. Throws input_error
/// for a value that is none. To be called before threads are started.
std::optional<rank_process_place> take_rank_process_place();

/// What the processes of a group must agree on, to be of one group: build, cases, seed.
nlohmann::json group_identity_json(const environment& where, std::uint64_t seed, const std::vector<case_spec>& cases);

/// The first thing in which two differ: "commit is "a" there, "b" here"; empty when they are equal.
std::string identity_difference(const nlohmann::json& here, const nlohmann::json& there);

/// Bytes of an arena that a rank's process needs for a case.
std::size_t required_bytes_of_process(const case_spec& spec, bool on_gpu);

struct rank_service {
  std::uint64_t seed = 1;
  const std::vector<case_spec>& cases;  ///< the supervisor names them by their place
  arena& memory;
  std::shared_ptr<harness::machine> machine;  ///< of this rank; null: the CPU
  nlohmann::json identity;
  nlohmann::json as_seen;  ///< of the machine, for the header of the records
};

/// Returns when the supervisor says so. Where the supervisor is gone, or says what is no message, the process ends at
/// once, with whatever runs in it: exit code 3.
void serve_as_rank(const rank_process_place& place, const rank_service& service);

}  // namespace switchyard::harness
