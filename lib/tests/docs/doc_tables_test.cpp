// SPDX-License-Identifier: Apache-2.0
// The tables in lib/docs are those of the code. A difference prints the table as it must be.
#include "docs/doc_tables.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

namespace switchyard {
namespace {

/// What stands between <!-- table: name --> and <!-- end -->.
std::string table_in(const std::string& document, const std::string& name) {
  std::ifstream stream(std::string(SWITCHYARD_DOCS_FOLDER) + '/' + document);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const auto begin_mark = "<!-- table: " + name + " -->\n";
  const auto begin = text.find(begin_mark);
  if (begin == std::string::npos) return "no table " + name + " in " + document;
  const auto first = begin + begin_mark.size();
  return text.substr(first, text.find("<!-- end -->", first) - first);
}

TEST(doc_tables, regions) { EXPECT_EQ(table_in("workspace_layout.md", "regions"), docs::regions_table()); }

TEST(doc_tables, header_words) { EXPECT_EQ(table_in("protocol.md", "header words"), docs::header_words_table()); }

TEST(doc_tables, notice_bits) { EXPECT_EQ(table_in("protocol.md", "notice bits"), docs::notice_bits_table()); }

/// Products of numbers and names; nothing else stands in a formula.
std::uint64_t value_of(std::string_view formula, const std::map<std::string, std::uint64_t, std::less<>>& names) {
  std::uint64_t product = 1;
  while (!formula.empty()) {
    const auto star = formula.find(" * ");
    const auto factor = formula.substr(0, star);
    const bool number = std::isdigit(static_cast<unsigned char>(factor.front())) != 0;
    product *= number ? std::stoull(std::string(factor)) : names.at(std::string(factor));
    formula.remove_prefix(star == std::string_view::npos ? formula.size() : star + 3);
  }
  return product;
}

TEST(doc_tables, formulas_of_regions_are_their_sizes) {
  for (const std::uint64_t ep_size : {1U, 3U, 72U}) {
    const layout::extents dims{.ep_size = ep_size,
                               .top_k = 6,
                               .max_tokens = 2055,
                               .hidden_bytes = 10,
                               .scale_bytes = 14,
                               .extra_bytes = 22,
                               .eplb_words = 30,
                               .combine_row_bytes = 26,
                               .lamport_tokens = 40,
                               .rank_masks = true};
    // The derived names by the words of the page, not by the code.
    const std::map<std::string, std::uint64_t, std::less<>> names{{"ep_size", ep_size},
                                                                  {"top_k", 6},
                                                                  {"max_tokens", 2055},
                                                                  {"hidden_bytes", 10},
                                                                  {"scale_bytes", 14},
                                                                  {"extra_bytes", 22},
                                                                  {"eplb_words", 30},
                                                                  {"combine_row_bytes", 26},
                                                                  {"returned_row_bytes", 26},
                                                                  {"receive_rows", ep_size * 2055},
                                                                  {"slots", ep_size < 6 ? ep_size : 6},
                                                                  {"bitmap_words", 65},
                                                                  {"header_words", 16 + 65},
                                                                  {"whole_mask_words", ep_size > 32 ? 3 : 0},
                                                                  {"max_chunks", 2048},
                                                                  {"lamport_tokens", 40},
                                                                  // 1 + 2 + 2 + 1 + 2 units, each with a word
                                                                  {"lamport_row_bytes", 256},
                                                                  {"lamport_output_bytes", 128}};
    for (const auto& spec : layout::region_table) {
      EXPECT_EQ(value_of(spec.formula, names), spec.bytes(dims)) << spec.name;
    }
  }
}

}  // namespace
}  // namespace switchyard
