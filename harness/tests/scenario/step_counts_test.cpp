// SPDX-License-Identifier: Apache-2.0
// Counts by step and rank: the grammar, and walking round.
#include "switchyard/harness/step_counts.hpp"

#include <gtest/gtest.h>

namespace switchyard::harness {
namespace {

TEST(step_counts, are_walked_round_and_round) {
  const auto table = step_counts::parse("0:32:32:31/32:0:0:0/0:0:0:0/7");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->steps(), 4U);
  EXPECT_EQ(table->largest(), 32);
  EXPECT_EQ(table->at(0, 0), 0);
  EXPECT_EQ(table->at(0, 3), 31);
  EXPECT_EQ(table->at(5, 0), 32);
  EXPECT_EQ(table->at(5, 1), 0);
  EXPECT_EQ(table->at(402, 2), 0);
  EXPECT_EQ(table->at(403, 2), 7);
  EXPECT_TRUE(table->fits(4));
  EXPECT_FALSE(table->fits(3));
  EXPECT_FALSE(table->fits(5));
  EXPECT_TRUE(step_counts::parse("9/8")->fits(200));
}

TEST(step_counts, text_reads_back) {
  for (const auto* text : {"0", "1048576", "1:2/3", "0:0:0/10/4:5:6"}) {
    const auto table = step_counts::parse(text);
    ASSERT_TRUE(table.has_value()) << text;
    EXPECT_EQ(table->text(), text);
  }
  EXPECT_EQ(step_counts().text(), "0");
  EXPECT_EQ(step_counts().at(3, 5), 0);
  EXPECT_EQ(step_counts(), step_counts::parse("0"));
}

TEST(step_counts, a_value_has_one_spelling_and_a_bound) {
  for (const auto* text : {"",    "/",  ":",  "1/", "/1", "1:", ":1",  "1//2",    "1::2",
                           "01",  "00", "+1", "-1", " 1", "1 ", "1,2", "1048577", "99999999999999999999",
                           "0x1", "1.0"}) {
    EXPECT_FALSE(step_counts::parse(text).has_value()) << text;
  }
  std::string many = "1";
  for (std::size_t i = 1; i < step_counts::most_counts; ++i) many += i % 2 == 0 ? "/1" : ":1";
  EXPECT_TRUE(step_counts::parse(many).has_value());
  EXPECT_FALSE(step_counts::parse(many + "/1").has_value());
}

}  // namespace
}  // namespace switchyard::harness
