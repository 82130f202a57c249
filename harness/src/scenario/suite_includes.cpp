// SPDX-License-Identifier: Apache-2.0
// Loads the files that a suite includes.
#include "suite_includes.hpp"

#include <algorithm>
#include <filesystem>

#include "switchyard/harness/scenario_file.hpp"

namespace switchyard::harness {
namespace {

struct inclusion {
  std::vector<suite> suites;
  std::vector<std::string> open;  ///< names from the root to the suite whose includes are being read

  void add(suite which) {
    const auto folder = std::filesystem::path(which.file).parent_path();
    const auto includes = which.includes;
    open.push_back(which.name);
    suites.push_back(std::move(which));
    for (const auto& next : includes) {
      check(next);
      const auto path = folder / (next.name + ".json");
      std::error_code failure;
      if (!std::filesystem::exists(path, failure)) {
        reject(next, "no suite of this name beside it: " + path.string() + " does not exist");
      }
      add(read_suite_file(path));
    }
    open.pop_back();
  }

 private:
  [[noreturn]] static void reject(const suite_include& which, const std::string& rule) {
    refuse(which.place, which.name, rule, rule_kind::relation);
  }

  void check(const suite_include& next) const {
    const auto start = std::find(open.begin(), open.end(), next.name);
    if (start != open.end()) {
      std::string circle;
      for (auto name = start; name != open.end(); ++name) circle += *name + " -> ";
      reject(next, "includes go round in a circle: " + circle + next.name);
    }
    const bool known =
        std::any_of(suites.begin(), suites.end(), [&](const auto& one) { return one.name == next.name; });
    if (known) reject(next, "is included twice: another include has brought it in already");
  }
};

}  // namespace

std::vector<suite> with_includes(suite root) {
  inclusion all;
  all.add(std::move(root));
  return std::move(all.suites);
}

}  // namespace switchyard::harness
