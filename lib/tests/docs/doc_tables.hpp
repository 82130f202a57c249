// SPDX-License-Identifier: Apache-2.0
// The tables of lib/docs that say what the code says, made from the code.
#pragma once

#include <string>

#include "layout/workspace_layout.hpp"
#include "protocol/header.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::docs {

inline std::string row(std::initializer_list<std::string> cells) {
  std::string text = "|";
  for (const auto& cell : cells) text += ' ' + cell + " |";
  return text + '\n';
}

inline std::string regions_table() {
  std::string text = row({"region", "bytes", "written by", "zeroed", "holds"}) + "| --- | --- | --- | --- | --- |\n";
  for (const auto& spec : layout::region_table) {
    text +=
        row({std::string(spec.name), std::string(spec.formula), spec.writer == layout::writer::self ? "self" : "peers",
             spec.zeroed ? "yes" : "no", std::string(spec.holds)});
  }
  return text;
}

inline std::string header_words_table() {
  std::string text = row({"word", "name", "must match as", "holds"}) + "| ---: | --- | --- | --- |\n";
  for (const auto& spec : protocol::header_word_table) {
    std::string field;
    for (const auto& entry : protocol::must_match_words()) {
      if (entry.word != spec.word) continue;
      const auto in_dispatch = protocol::field_of(entry, phase::dispatch);
      field = to_string(protocol::field_of(entry, phase::combine));
      if (in_dispatch != entry.field) field += ", in dispatch " + std::string(to_string(in_dispatch));
    }
    text += row({std::to_string(static_cast<unsigned>(spec.word)), std::string(spec.name), field.empty() ? "-" : field,
                 std::string(spec.holds)});
  }
  return text;
}

/// Where each part of a notice's 32 data bits lies, found by encoding one part at a time.
inline std::string notice_bits_table() {
  const auto span_of = [](const protocol::notice& all_ones) {
    const auto bits = protocol::encode(all_ones) ^ protocol::encode({});
    const auto first = __builtin_ctz(bits);
    const auto last = 31 - __builtin_clz(bits);
    return std::to_string(first) + ".." + std::to_string(last);
  };
  protocol::notice code;
  code.code = static_cast<fault_code>(0xF);
  protocol::notice where;
  where.where = phase::combine;
  protocol::notice field;
  field.field = static_cast<step_field>(0x1F);
  protocol::notice origin;
  origin.origin = 0xFF;
  protocol::notice rank;
  rank.rank = 0xFF;
  return row({"bits", "part", "holds"}) + "| --- | --- | --- |\n" + row({span_of(code), "code", "a fault_code"}) +
         row({span_of(where), "phase", "0 dispatch, 1 combine"}) + row({span_of(field), "field", "a step_field"}) +
         row({span_of(origin), "origin", "the rank that saw it"}) +
         row({span_of(rank), "rank", "the rank it names, and above it a bit that one is named"});
}

}  // namespace switchyard::docs
