// SPDX-License-Identifier: Apache-2.0
// Which cases a command means: suites by name or path, one case by id, filters by id and by tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/suite_catalog.hpp"

namespace switchyard::harness {

struct case_selection {
  std::vector<std::string> suites;     ///< names or paths; with none, case_id names the suite
  std::optional<std::string> case_id;  ///< exactly this case; the members below must then be empty
  std::optional<std::int64_t> ranks;   ///< replaces the field ranks, swept or not
  std::string filter;                  ///< shell pattern over the whole case id (* crosses '/'); empty: all
  std::vector<std::string> tags;       ///< cases must carry all of them
};

/// The suites of a selection and those that they include, each loaded once, in the order given.
std::vector<suite> load_suites(const suite_catalog& catalog, const case_selection& selection);

/// The cases of one suite that the selection keeps; maybe none.
std::vector<case_spec> cases_of(const suite& from, const suite_catalog& catalog, const case_selection& selection);

/// All chosen cases; at least one. Throws input_error.
std::vector<case_spec> select_cases(const suite_catalog& catalog, const case_selection& selection);

/// Bytes of the one arena in which each of the cases fits. Throws input_error naming the first case that needs more
/// than `limit_bytes`. `bytes_of` is required_bytes(), or what a test puts in its place.
std::size_t arena_bytes_for(const std::vector<case_spec>& cases, std::size_t limit_bytes,
                            const std::function<std::size_t(const case_spec&)>& bytes_of);

}  // namespace switchyard::harness
