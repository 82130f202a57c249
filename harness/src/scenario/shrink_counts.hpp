// SPDX-License-Identifier: Apache-2.0
// Simpler texts of counts by step and rank, for the shrinker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace switchyard::harness {

/// Counts that are simpler than `counts`, boldest first: one step of several, a step less, one count for all ranks,
/// smaller counts. Precondition of all functions here: step_counts::parse(counts) takes the text.
std::vector<std::string> simpler_counts(const std::string& counts);

/// `counts` for a group in which rank `rank` has gone; steps with one count for all ranks stay as they are.
std::string counts_without_rank(const std::string& counts, std::size_t rank);

std::int64_t largest_count(const std::string& counts);

}  // namespace switchyard::harness
