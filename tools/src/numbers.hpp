// SPDX-License-Identifier: Apache-2.0
// Numbers on the command line. The parser of options wraps negative ones and saturates large ones; these refuse both.
#pragma once

#include <cstdint>
#include <string>

#include "switchyard/harness/shard.hpp"

namespace switchyard::tools {

/// A decimal number below 2^64. Throws input_error naming `option` and `text`.
std::uint64_t parse_count(const std::string& option, const std::string& text);

/// The same, from `least` to `most`.
std::int64_t parse_count_within(const std::string& option, const std::string& text, std::int64_t least,
                                std::int64_t most);

/// A decimal number, such as 2 or 0.3, from `least` to `most`. Throws as parse_count.
double parse_number_within(const std::string& option, const std::string& text, double least, double most);

/// A number of ranks, 1 to max_ep_size. Throws as parse_count.
std::int64_t parse_rank_count(const std::string& option, const std::string& text);

/// A number as parse_count with an optional unit K, M, G or T (powers of 1024); not 0.
std::uint64_t parse_bytes(const std::string& option, const std::string& text);

/// A part of a run, I/N with 1 <= I <= N <= 1000000.
harness::shard parse_shard(const std::string& option, const std::string& text);

}  // namespace switchyard::tools
