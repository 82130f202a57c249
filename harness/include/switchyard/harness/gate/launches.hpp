// SPDX-License-Identifier: Apache-2.0
// Launches of a bench, each a process of its own, whose samples are gathered. Two builds take turns, A B B A, so that
// what drifts evenly falls on both alike.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/harness/gate/sample_lines.hpp"

namespace switchyard::harness::gate {

/// Whose turn it is: 0 A, 1 B; `launches` of each. One side: always 0.
std::vector<std::size_t> turns_of(std::size_t sides, int launches);

/// What the launches of one side came to.
struct launched_side {
  std::string bench_header;  ///< of its first good launch, a line; empty: there was none
  int launches = 0;
  std::vector<sample_line> samples;
  std::vector<std::pair<int, std::string>> failed;  ///< launch and why; its samples are not kept
};

struct launch_plan {
  std::vector<std::vector<std::string>> commands;  ///< one a side: prints the lines of a bench to standard output
  int launches = 0;                                ///< of each
  std::chrono::seconds patience{0};                ///< a launch that says nothing for so long is killed
  std::function<void()> after_each = {};           ///< called when `sides` has what a launch came to
};

using launch_note = std::function<void(const std::string&)>;

/// Runs them one after the other and adds what they say to `sides`, which has a place per command and may hold earlier
/// launches: numbers go on. A launch is good when it ends with exit code 0, has a header that agrees with the others
/// of its side in build, testbed and options (but which points), and at least one point.
void run_launches(const launch_plan& plan, std::vector<launched_side>& sides, const launch_note& note);

/// Whether there was a launch and every one said that something required is absent: exit code 3, nothing was measured.
bool all_lacked_something(const launched_side& side);

/// The noise of every scenario that has enough launches, by id: of launches of one build, in the order in which they
/// ran.
std::vector<std::pair<std::string, aa_noise>> noise_of(const launched_side& side);

/// A file of samples as a text: all lines, noise where there is some. Throws input_error when no launch was good.
std::string samples_text(const launched_side& side, const std::vector<std::pair<std::string, aa_noise>>& noise,
                         const std::string& started);

}  // namespace switchyard::harness::gate
