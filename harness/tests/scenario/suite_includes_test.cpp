// SPDX-License-Identifier: Apache-2.0
// Suites that include suites.
#include <fstream>

#include "scenario_text.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {
namespace {

using ids = std::vector<std::string>;

class suite_includes : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "profiles.json") << R"({"description": "d", "profiles": {}})";
    write("one", "", true);
    write("two", "", true);
  }
  void write(const std::string& name, const std::string& includes, bool scenarios) const {
    std::ofstream file(folder_ / (name + ".json"));
    file << R"({"suite": ")" + name + R"(", "description": "d")";
    if (!includes.empty()) file << R"(, "include": [)" + includes + "]";
    if (scenarios) file << R"(, "scenarios": [)" + scenario_text("") + "]";
    file << "}";
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / (name + ".json")).string(); }
  ids chosen(const ids& suites) const {
    case_selection selection;
    selection.suites = suites;
    return ids_of(select_cases(suite_catalog(folder_), selection));
  }
  [[nodiscard]] std::string refused(const std::string& name) const {
    return refusal([&] { chosen({name}); });
  }

  std::filesystem::path folder_;
};

TEST_F(suite_includes, cases_keep_the_ids_of_the_suite_they_come_from) {
  write("both", R"("two", "one")", false);
  write("all", R"("both")", true);
  EXPECT_EQ(chosen({"both"}), (ids{"two/s", "one/s"}));
  EXPECT_EQ(chosen({"all"}), (ids{"all/s", "two/s", "one/s"}));
  EXPECT_EQ(chosen({path("all")}), (ids{"all/s", "two/s", "one/s"}));
}

TEST_F(suite_includes, a_suite_asked_for_twice_runs_once) {
  write("both", R"("two", "one")", false);
  EXPECT_EQ(chosen({"one", "both", path("two")}), (ids{"one/s", "two/s"}));
}

TEST_F(suite_includes, one_case_of_an_included_suite) {
  write("both", R"("two", "one")", false);
  case_selection selection;
  selection.suites = {"both"};
  selection.case_id = "one/s";
  EXPECT_EQ(ids_of(select_cases(suite_catalog(folder_), selection)), ids{"one/s"});
}

TEST_F(suite_includes, unknown_names) {
  write("bad", R"("one", "three")", false);
  EXPECT_EQ(refused("bad"),
            path("bad") + ": /include/1: three: no suite of this name beside it: " + path("three") + " does not exist");
}

TEST_F(suite_includes, circles) {
  write("self", R"("self")", true);
  EXPECT_EQ(refused("self"), path("self") + ": /include/0: self: includes go round in a circle: self -> self");
  write("a", R"("b")", false);
  write("b", R"("one", "c")", false);
  write("c", R"("b")", true);
  EXPECT_EQ(refused("a"), path("c") + ": /include/0: b: includes go round in a circle: b -> c -> b");
}

TEST_F(suite_includes, the_same_suite_by_two_ways) {
  write("both", R"("two", "one")", false);
  write("bad", R"("both", "one")", false);
  EXPECT_EQ(refused("bad"),
            path("bad") + ": /include/1: one: is included twice: another include has brought it in already");
}

}  // namespace
}  // namespace switchyard::harness
