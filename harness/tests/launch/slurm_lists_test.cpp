// SPDX-License-Identifier: Apache-2.0
// Slurm's notations, strictly.
#include "slurm_lists.hpp"

#include <gtest/gtest.h>

namespace switchyard::harness {
namespace {

TEST(slurm_lists, the_first_host_is_found) {
  const auto first = [](std::string_view list) { return first_slurm_host(list).value_or("refused"); };
  EXPECT_EQ(first("tray7"), "tray7");
  EXPECT_EQ(first("tray[01-18]"), "tray01");
  EXPECT_EQ(first("a[3,5-7],b1"), "a3");
  EXPECT_EQ(first("b1,a[3,5-7]"), "b1");
  EXPECT_EQ(first("rack1-tray[001-018]"), "rack1-tray001");
  EXPECT_EQ(first("rack[1-2]tray[09-10].example.org"), "rack1tray09.example.org");
  EXPECT_EQ(first("n[9-10]"), "n9");
  EXPECT_EQ(first("n[01-100]"), "n01");
  EXPECT_EQ(first("n[5]"), "n5");
  EXPECT_EQ(first("[10-12]"), "10");
  EXPECT_EQ(first("n[000000000000000000001-000000000000000000002]"), "n000000000000000000001");
}

TEST(slurm_lists, what_is_no_host_list_is_not_guessed_at) {
  for (const auto* list :
       {"",       ",",          "a,",       ",a",    "a,,b",    "a b",    "a[",       "a]",      "a[]",     "a[1",
        "a[1-]",  "a[-1]",      "a[1-2-3]", "a[1,]", "a[,1]",   "a[2-1]", "a[10-9]",  "a[1-02]", "a[01-2]", "a[1-b]",
        "a[[1]]", "a[000x733]", "a[1-2],",  "a\n",   "a[1 -2]", "a,b[",   "a,b[2-1]", "(null)",  "a;b"}) {
    EXPECT_FALSE(first_slurm_host(list)) << list;
  }
}

TEST(slurm_lists, tasks_per_node_are_spelt_out) {
  using counts = std::vector<std::uint64_t>;
  EXPECT_EQ(slurm_tasks_per_node("4", 256), counts({4}));
  EXPECT_EQ(slurm_tasks_per_node("4(x3)", 256), counts({4, 4, 4}));
  EXPECT_EQ(slurm_tasks_per_node("1,2,1(x3),3,2", 256), counts({1, 2, 1, 1, 1, 3, 2}));
  EXPECT_EQ(slurm_tasks_per_node("256", 256), counts({256}));
  EXPECT_EQ(slurm_tasks_per_node("1(x256)", 256)->size(), 256U);
}

TEST(slurm_lists, what_is_no_list_of_tasks_is_not_guessed_at) {
  for (const auto* list : {"", ",", "4,", ",4", "0", "4(x0)", "04", "4(x)", "4(x2", "4(2)", "4(x2))", "4 (x2)", "4x2",
                           "-4", "257", "2(x129)", "255,2", "1(x18446744073709551615)", "4(x18446744073709551616)"}) {
    EXPECT_FALSE(slurm_tasks_per_node(list, 256)) << list;
  }
}

}  // namespace
}  // namespace switchyard::harness
