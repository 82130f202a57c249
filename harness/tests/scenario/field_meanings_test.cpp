// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/field_meanings.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

TEST(field_meanings, every_field_has_one_in_the_order_of_the_rules) {
  ASSERT_EQ(field_meanings().size(), field_rules().size());
  for (std::size_t i = 0; i < field_rules().size(); ++i) {
    EXPECT_EQ(field_meanings()[i].field, field_rules()[i].name);
    EXPECT_FALSE(field_meanings()[i].meaning.empty()) << field_rules()[i].name;
    EXPECT_FALSE(field_meanings()[i].otherwise.empty()) << field_rules()[i].name;
  }
}

TEST(field_meanings, each_word_that_says_how_ids_or_values_are_drawn_is_explained) {
  for (const auto* field : {"routing", "runtime_max_tokens_from", "values", "variation", "experts", "launch",
                            "inject.kind", "low_precision_combine"}) {
    const auto* meaning = find_meaning(field);
    ASSERT_NE(meaning, nullptr) << field;
    for (const auto word : find_field(field)->words) {
      EXPECT_NE(meaning->meaning.find(word), std::string_view::npos) << field << ": " << word;
    }
  }
}

TEST(field_meanings, the_table_of_the_folder_is_this_one) {
  std::ifstream stream(SWITCHYARD_TEST_SCENARIOS "/README.md");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  constexpr std::string_view mark = "<!-- table: fields -->\n";
  const auto begin = text.find(mark);
  ASSERT_NE(begin, std::string::npos);
  const auto first = begin + mark.size();
  EXPECT_EQ(text.substr(first, text.find("<!-- end -->", first) - first), fields_table());
}

TEST(field_meanings, a_name_that_is_no_field_has_none) { EXPECT_EQ(find_meaning("no_such_field"), nullptr); }

}  // namespace
}  // namespace switchyard::harness
