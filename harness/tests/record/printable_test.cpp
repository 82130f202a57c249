// SPDX-License-Identifier: Apache-2.0
// What would hide in a line of output is spelt out; the rest is left alone.
#include "switchyard/harness/printable.hpp"

#include <gtest/gtest.h>

namespace switchyard::harness {
namespace {

using namespace std::string_literals;

TEST(printable, text_stays_as_it_is) {
  for (const auto& text : {""s, "a b/c: \"d\" \\"s, "Grüße, 漢字, 😀, e\u0301"s}) EXPECT_EQ(printable(text), text);
}

TEST(printable, controls_are_spelt_out) {
  EXPECT_EQ(printable("a\0b"s), R"(a\u0000b)");
  EXPECT_EQ(printable("a\nb\r\tc\x1b[31m\x7f"), R"(a\nb\r\tc\u001b[31m\u007f)");
  EXPECT_EQ(printable("\u0085"), R"(\u0085)");
}

TEST(printable, what_turns_or_hides_text_is_spelt_out) {
  EXPECT_EQ(printable("a\u202Eb\u2066c"), R"(a\u202eb\u2066c)");
  EXPECT_EQ(printable("\u200B\u2028\uFEFF"), R"(\u200b\u2028\ufeff)");
  EXPECT_EQ(printable("\U000E0041"), R"(\U000e0041)");
}

TEST(printable, what_is_not_utf8_is_spelt_out_byte_by_byte) {
  EXPECT_EQ(printable("\xff"), R"(\xff)");
  EXPECT_EQ(printable("a\xc3"), R"(a\xc3)");
  EXPECT_EQ(printable("\xc0\xaf"), R"(\xc0\xaf)");                  // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // past the last character
}

}  // namespace
}  // namespace switchyard::harness
