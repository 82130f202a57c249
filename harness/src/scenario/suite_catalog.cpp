// SPDX-License-Identifier: Apache-2.0
// The folder of scenario files.
#include "switchyard/harness/suite_catalog.hpp"

#include <algorithm>

#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/scenario_file.hpp"

namespace switchyard::harness {
namespace {

constexpr std::string_view profiles_file = "profiles.json";

}  // namespace

suite_catalog::suite_catalog(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code failure;
  if (!std::filesystem::is_directory(folder_, failure)) refuse({folder_.string(), ""}, "", "no folder of scenarios");
  std::filesystem::directory_iterator files(folder_, failure);
  if (failure) refuse({folder_.string(), ""}, "", "cannot be read: " + failure.message());
  for (const auto& file : files) {
    const auto& path = file.path();
    if (path.extension() == ".json" && path.filename() != profiles_file) names_.push_back(path.stem().string());
  }
  std::sort(names_.begin(), names_.end());
  profiles_ = read_profiles_file(folder_ / profiles_file);
}

suite suite_catalog::load(const std::string& name_or_path) const {
  const bool is_file = std::find(names_.begin(), names_.end(), name_or_path) != names_.end();
  if (name_or_path == random_suite_name && !is_file) return random_suite();
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) {
    return read_suite_file(name_or_path);
  }
  if (std::find(names_.begin(), names_.end(), name_or_path) == names_.end()) {
    std::string known;
    for (const auto& name : names_) known += (known.empty() ? "" : ", ") + name;
    throw input_error("suite " + name_or_path + ": unknown; " + folder_.string() + " has " +
                      (known.empty() ? "none" : known));
  }
  return read_suite_file(folder_ / (name_or_path + ".json"));
}

}  // namespace switchyard::harness
