// SPDX-License-Identifier: Apache-2.0
// Short names for long things: 64 bits that differ when what they stand for differs. Not against forgers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// Of the ids, of every field and of the traces of `cases`, in order: whether a run would run the same.
std::uint64_t cases_digest(const std::vector<case_spec>& cases);

/// Of what a case feeds the library: of its first 16 steps the plan, and of each rank in them the expert ids of its
/// first token. Two builds with the same digest draw the same inputs, so that their other numbers can be compared.
std::uint64_t inputs_digest(const case_spec& spec, std::uint64_t seed);

/// Of bytes, such as those of a file.
std::uint64_t bytes_digest(std::string_view bytes) noexcept;

}  // namespace switchyard::harness
