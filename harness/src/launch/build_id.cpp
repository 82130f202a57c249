// SPDX-License-Identifier: Apache-2.0
#include "build_id.hpp"

#include <elf.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace switchyard::harness {
namespace {

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

/// The notes of one segment: a header, a name and a description, each padded to four bytes.
std::string id_in_notes(const char* notes, std::size_t bytes) {
  std::string text;
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    const auto* name = notes + at + sizeof header;
    const auto* description = name + padded(header.n_namesz);
    at += sizeof header + padded(header.n_namesz) + padded(header.n_descsz);
    if (at > bytes) break;
    if (header.n_type != NT_GNU_BUILD_ID || header.n_namesz != 4 || std::memcmp(name, "GNU", 4) != 0) continue;
    for (std::size_t i = 0; i < header.n_descsz; ++i) {
      std::array<char, 3> digits{};
      std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(description[i]));
      text += digits.data();
    }
    break;
  }
  return text;
}

// The program itself comes first, and is the only one looked at.
int look_at_program(dl_phdr_info* info, std::size_t, void* into) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    auto& text = *static_cast<std::string*>(into);
    if (segment.p_type != PT_NOTE || !text.empty()) continue;
    text = id_in_notes(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string text;
  (void)::dl_iterate_phdr(look_at_program, &text);
  return text;
}

}  // namespace switchyard::harness
