// SPDX-License-Identifier: Apache-2.0
#include "comm/hello.hpp"

namespace switchyard::comm {
namespace {

/// FNV-1a; `basis` begins it.
std::uint64_t fnv_of(const std::string& text, std::uint64_t basis) {
  for (const char each : text) basis = (basis ^ static_cast<unsigned char>(each)) * 0x0000'0100'0000'01B3;
  return basis;
}

constexpr std::uint64_t fnv_basis = 0xCBF2'9CE4'8422'2325;

}  // namespace

std::uint32_t build_number() noexcept { return SWITCHYARD_BUILD_NUMBER; }

std::string build_text(std::uint32_t build) {
  return std::to_string(build >> 16) + "." + std::to_string((build >> 8) & 0xFF) + "." + std::to_string(build & 0xFF);
}

group_id digest_of(const std::string& secret) { return {fnv_of(secret, fnv_basis), fnv_of(secret, ~fnv_basis)}; }

}  // namespace switchyard::comm
