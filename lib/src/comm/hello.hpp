// SPDX-License-Identifier: Apache-2.0
// What a hello says of the library and of the group.
#pragma once

#include <cstdint>
#include <string>

#include "comm/wire.hpp"

namespace switchyard::comm {

/// The library's version: 16, 8 and 8 bits.
std::uint32_t build_number() noexcept;
std::string build_text(std::uint32_t build);

/// Equal for equal texts, and hardly for others.
group_id digest_of(const std::string& secret);

}  // namespace switchyard::comm
