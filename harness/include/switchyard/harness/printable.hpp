// SPDX-License-Identifier: Apache-2.0
// Text from elsewhere, such as file names and values of scenario files, made fit for a line of output.
#pragma once

#include <string>
#include <string_view>

namespace switchyard::harness {

/// `text` on one line and with nothing hidden: control characters, separators of lines, marks that turn the direction
/// of text, invisible ones and bytes that are not UTF-8 are written as \n, \u202e, \xff; the rest stays as it is.
std::string printable(std::string_view text);

}  // namespace switchyard::harness
