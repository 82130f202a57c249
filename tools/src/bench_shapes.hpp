// SPDX-License-Identifier: Apache-2.0
// The options of bench that say which shapes are measured: each takes a list, every combination is a shape.
#pragma once

#include <string>
#include <vector>

#include "bench_arguments.hpp"

namespace switchyard::tools {

void add_shape_options(CLI::App& command, bench_arguments& into);

/// Takes what options do not say from options.params, the profile's, and leaves there the first shape. Throws
/// input_error naming the option.
void read_shapes(const bench_arguments& arguments, harness::bench_options& options);

/// Those that were given, to be given again: builds before them do not know them.
std::vector<std::string> shape_options_again(const bench_arguments& arguments);

/// The words of an option that takes a list, as they were given.
std::string joined(const std::vector<std::string>& words);

}  // namespace switchyard::tools
