// SPDX-License-Identifier: Apache-2.0
// A process whose lines are read as they come.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace switchyard::harness {

/// Runs `command` with this process's environment and `variable` (NAME=VALUE, or empty) in it, and hands on each whole
/// line of its standard output; its standard error is this process's. Kills it after `patience` without a line. Returns
/// how it ended: empty for exit code 0.
std::string read_child_lines(const std::vector<std::string>& command, const std::string& variable,
                             std::chrono::milliseconds patience, const std::function<void(const std::string&)>& line);

}  // namespace switchyard::harness
