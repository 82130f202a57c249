// SPDX-License-Identifier: Apache-2.0
// Which cases a command means.
#include "switchyard/harness/suite_selection.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include "suite_includes.hpp"
#include "switchyard/harness/scenario_fields.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness {
namespace {

bool has_all_tags(const scenario& which, const std::vector<std::string>& tags) {
  return std::all_of(tags.begin(), tags.end(), [&](const std::string& tag) {
    return std::find(which.tags.begin(), which.tags.end(), tag) != which.tags.end();
  });
}

field_settings overrides_of(const case_selection& selection) {
  field_settings overrides;
  if (!selection.ranks) return overrides;
  const input_place place{"--ranks", ""};
  const auto& rule = *find_field("ranks");
  if (!obeys(rule, *selection.ranks)) refuse(place, std::to_string(*selection.ranks), describe(rule));
  overrides.emplace("ranks", field_setting{*selection.ranks, place});
  return overrides;
}

case_spec select_one(const suite_catalog& catalog, const case_selection& selection) {
  if (selection.ranks || !selection.filter.empty() || !selection.tags.empty()) {
    throw input_error("--case names one case: --ranks, --filter and --tag do not go with it");
  }
  const auto address = parse_case_id(*selection.case_id);
  auto where = selection;
  if (where.suites.empty()) where.suites.push_back(address.suite);
  for (const auto& from : load_suites(catalog, where)) {
    if (from.name == address.suite) return expand_one(from, address, catalog.profiles());
  }
  throw input_error("case id " + *selection.case_id + ": its suite is not among the suites given");
}

}  // namespace

std::vector<suite> load_suites(const suite_catalog& catalog, const case_selection& selection) {
  std::vector<suite> suites;
  for (const auto& name : selection.suites) {
    for (auto& loaded : with_includes(catalog.load(name))) {
      const auto same =
          std::find_if(suites.begin(), suites.end(), [&](const auto& one) { return one.name == loaded.name; });
      if (same == suites.end()) {
        suites.push_back(std::move(loaded));
      } else if (!std::filesystem::equivalent(same->file, loaded.file)) {
        throw input_error("suite " + loaded.name + ": two files have this name: " + same->file + " and " + loaded.file);
      }
    }
  }
  return suites;
}

std::vector<case_spec> cases_of(const suite& from, const suite_catalog& catalog, const case_selection& selection) {
  expand_options options;
  options.overrides = overrides_of(selection);
  if (!selection.filter.empty()) {
    options.keep = [&](const std::string& id) { return ::fnmatch(selection.filter.c_str(), id.c_str(), 0) == 0; };
  }
  std::vector<case_spec> cases;
  for (const auto& which : from.scenarios) {
    if (!has_all_tags(which, selection.tags)) continue;
    auto more = expand(from, which, catalog.profiles(), options);
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  return cases;
}

std::vector<case_spec> select_cases(const suite_catalog& catalog, const case_selection& selection) {
  if (selection.case_id) return {select_one(catalog, selection)};
  if (selection.suites.empty()) {
    std::string known;
    for (const auto& name : catalog.names()) known += (known.empty() ? "" : ", ") + name;
    throw input_error("nothing to run: name a suite (" + known + ") or give --case ID");
  }
  std::vector<case_spec> cases;
  for (const auto& from : load_suites(catalog, selection)) {
    auto more = cases_of(from, catalog, selection);
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  if (cases.empty()) {
    std::string tags;
    for (const auto& tag : selection.tags) tags += " --tag " + tag;
    const auto filter = selection.filter.empty() ? std::string() : " --filter " + selection.filter;
    throw input_error("no case of these suites is left by" + filter + tags);
  }
  return cases;
}

std::size_t arena_bytes_for(const std::vector<case_spec>& cases, std::size_t limit_bytes,
                            const std::function<std::size_t(const case_spec&)>& bytes_of) {
  std::size_t largest = 0;
  for (const auto& spec : cases) {
    const auto bytes = bytes_of(spec);
    if (bytes > limit_bytes) {
      throw input_error("case " + spec.id + " needs " + std::to_string(bytes) + " bytes of memory; the limit is " +
                        std::to_string(limit_bytes) + " (--arena-bytes)");
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace switchyard::harness
