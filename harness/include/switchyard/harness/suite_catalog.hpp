// SPDX-License-Identifier: Apache-2.0
// The folder of scenario files: which suites there are, and the model profiles that they use.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/model_profile.hpp"
#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// A folder with profiles.json and one <suite>.json for each suite.
class suite_catalog {
 public:
  /// Throws input_error when `folder` is no folder or its profiles.json cannot be read.
  explicit suite_catalog(std::filesystem::path folder);

  [[nodiscard]] const model_profiles& profiles() const noexcept { return profiles_; }
  /// Names of the suites in the folder, ascending.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// `suite` is a name of names(), the path of a .json file, or random_suite_name. Throws input_error.
  [[nodiscard]] harness::suite load(const std::string& name_or_path) const;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> names_;
  model_profiles profiles_;
};

}  // namespace switchyard::harness
