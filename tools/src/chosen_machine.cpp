// SPDX-License-Identifier: Apache-2.0
#include "chosen_machine.hpp"

#include <cstdlib>
#include <string>

#include "numbers.hpp"

namespace switchyard::tools {
namespace {

// How many GPUs a machine must have for a skip not to look like a pass.
std::uint64_t required_gpus() {
  constexpr const char* name = "SWITCHYARD_REQUIRE_GPUS";
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread has been started yet
  return text == nullptr || *text == '\0' ? 0 : parse_count(name, text);
}

}  // namespace

chosen_machine open_machine(const run_command_options& options, const std::vector<harness::case_spec>& cases,
                            const harness::machine_ranks& ranks) {
  chosen_machine chosen;
  if (options.fabric == fabric_kind::host) return chosen;
  const auto required = required_gpus();
  // Ranks that share a GPU wait for each other, so each stream needs a hardware queue. Read when CUDA starts.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);  // NOLINT(concurrency-mt-unsafe): as above
  auto found = harness::find_gpus();
  if (found.names.size() < required) {
    throw harness::environment_error("fabric cuda: " + std::to_string(required) +
                                     " GPU(s) are required by SWITCHYARD_REQUIRE_GPUS, " +
                                     std::to_string(found.names.size()) + " can be used here");
  }
  const int num_gpus = options.gpus.value_or(static_cast<int>(found.names.size()));
  chosen.machine = harness::open_gpus(num_gpus, ranks);
  for (const auto& spec : cases) {
    if (!chosen.machine->reason_to_skip(spec)) chosen.machine->require_memory(spec);
  }
  found.names.resize(static_cast<std::size_t>(num_gpus));
  chosen.fabric = {fabric_kind::cuda, std::move(found.names), std::move(found.driver)};
  return chosen;
}

}  // namespace switchyard::tools
