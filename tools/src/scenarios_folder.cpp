// SPDX-License-Identifier: Apache-2.0
// Where the program finds its scenarios when nobody says.
#include "common_options.hpp"

namespace switchyard::tools {

std::filesystem::path default_scenarios_folder() {
  // Relative to the program, so that an installation may be moved as a whole.
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const auto installed = (program.parent_path() / SWITCHYARD_SCENARIOS_FROM_BIN).lexically_normal();
    if (std::filesystem::is_directory(installed, failure)) return installed;
  }
  return SWITCHYARD_SCENARIOS_OF_SOURCES;
}

}  // namespace switchyard::tools
