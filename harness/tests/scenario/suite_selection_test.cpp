// SPDX-License-Identifier: Apache-2.0
// Suites by name and path, filters, tags, one case, and the memory that a selection needs.
#include "switchyard/harness/suite_selection.hpp"

#include <filesystem>
#include <fstream>

#include "scenario_text.hpp"

namespace switchyard::harness {
namespace {

using ids = std::vector<std::string>;

class suite_selection : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "elsewhere");
    write("profiles.json", R"({"description": "d", "profiles": {"tiny": {"hidden_size": 32, "top_k": 2,
        "num_experts": 6, "dtype": "bf16", "dispatch_format": "mxfp8"}}})");
    write("one.json", file("one"));
    write("two.json", file("two"));
    write("elsewhere/three.json", file("three"));
    write("elsewhere/one.json", file("one"));
    write("notes.txt", "no suite");
  }

  static std::string file(const std::string& name) {
    return R"({"suite": ")" + name + R"(", "description": "d", "scenarios": [
        {"name": "a", "sentence": "x", "tags": ["quick", "dry"], "profile": "tiny", "tokens": 1, "sweep":
            {"kind": "product", "axes": {"ranks": [2, 3]}}},
        {"name": "b", "sentence": "x", "tags": ["quick"], "profile": "tiny", "tokens": 1, "ranks": 2}]})";
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] ids chosen(const case_selection& selection) const {
    return ids_of(select_cases(suite_catalog(folder_), selection));
  }
  [[nodiscard]] std::string refused(const case_selection& selection) const {
    return refusal([&] { select_cases(suite_catalog(folder_), selection); });
  }

  std::filesystem::path folder_;
};

TEST_F(suite_selection, suites_by_name_and_by_path_each_once) {
  EXPECT_EQ(suite_catalog(folder_).names(), (ids{"one", "two"}));
  case_selection selection;
  selection.suites = {"two", path("elsewhere/three.json"), "two"};
  EXPECT_EQ(chosen(selection),
            (ids{"two/a@ranks=2", "two/a@ranks=3", "two/b", "three/a@ranks=2", "three/a@ranks=3", "three/b"}));
}

TEST_F(suite_selection, filters_match_the_whole_id) {
  case_selection selection;
  selection.suites = {"one", "two"};
  selection.filter = "*@ranks=3";
  EXPECT_EQ(chosen(selection), (ids{"one/a@ranks=3", "two/a@ranks=3"}));
  selection.filter = "t*b";
  EXPECT_EQ(chosen(selection), ids{"two/b"});
  selection.filter = "two";
  EXPECT_EQ(refused(selection), "no case of these suites is left by --filter two");
}

TEST_F(suite_selection, tags_are_all_asked_for) {
  case_selection selection;
  selection.suites = {"one"};
  selection.tags = {"quick"};
  EXPECT_EQ(chosen(selection), (ids{"one/a@ranks=2", "one/a@ranks=3", "one/b"}));
  selection.tags = {"quick", "dry"};
  EXPECT_EQ(chosen(selection), (ids{"one/a@ranks=2", "one/a@ranks=3"}));
  selection.tags = {"quick", "wet"};
  EXPECT_EQ(refused(selection), "no case of these suites is left by --tag quick --tag wet");
}

TEST_F(suite_selection, ranks_are_replaced_in_every_scenario) {
  case_selection selection;
  selection.suites = {"one"};
  selection.ranks = 5;
  EXPECT_EQ(chosen(selection), (ids{"one/a@ranks=5", "one/b@ranks=5"}));
  selection.ranks = 0;
  EXPECT_EQ(refused(selection), "--ranks: 0: must be an integer from 1 to 256");
  selection.ranks = 7;
  EXPECT_EQ(refused(selection),
            "--ranks: 7: must be at most num_experts (6): every rank owns an expert (case one/a@ranks=7)");
}

TEST_F(suite_selection, one_case_by_its_id) {
  case_selection selection;
  selection.case_id = "two/b@ranks=5";
  EXPECT_EQ(chosen(selection), ids{"two/b@ranks=5"});
  selection.case_id = "three/b";
  EXPECT_EQ(refused(selection), "suite three: unknown; " + folder_.string() + " has one, two");
  selection.suites = {"one", path("elsewhere/three.json")};
  EXPECT_EQ(chosen(selection), ids{"three/b"});
  selection.case_id = "two/b";
  EXPECT_EQ(refused(selection), "case id two/b: its suite is not among the suites given");
  selection.ranks = 2;
  EXPECT_EQ(refused(selection), "--case names one case: --ranks, --filter and --tag do not go with it");
}

TEST_F(suite_selection, what_is_not_there) {
  case_selection selection;
  EXPECT_EQ(refused(selection), "nothing to run: name a suite (one, two) or give --case ID");
  selection.suites = {"on"};
  EXPECT_EQ(refused(selection), "suite on: unknown; " + folder_.string() + " has one, two");
  selection.suites = {path("elsewhere/four.json")};
  EXPECT_EQ(refused(selection), path("elsewhere/four.json") + ": no such file");
  selection.suites = {"one", path("elsewhere/one.json")};
  EXPECT_EQ(refused(selection),
            "suite one: two files have this name: " + path("one.json") + " and " + path("elsewhere/one.json"));
  EXPECT_EQ(refusal([&] { suite_catalog(folder_ / "nowhere"); }), path("nowhere") + ": no folder of scenarios");
  EXPECT_EQ(refusal([&] { suite_catalog(folder_ / "elsewhere"); }), path("elsewhere/profiles.json") + ": no such file");
}

TEST_F(suite_selection, bad_profiles) {
  const auto refused_profiles = [&](const std::string& profile) {
    return refusal([&] { parse_profiles(R"({"description": "d", "profiles": {"p": )" + profile + "}}", "p.json"); });
  };
  const auto with = [](const std::string& top_k, const std::string& rest) {
    return R"({"hidden_size": 8, "num_experts": 4, "dtype": "bf16", "dispatch_format": "fp8", "top_k": )" + top_k +
           rest + "}";
  };
  EXPECT_EQ(refused_profiles("3"), "p.json: /profiles/p: 3: must be an object");
  EXPECT_EQ(refused_profiles("{}"), "p.json: /profiles/p/hidden_size: missing");
  EXPECT_EQ(refused_profiles(with("5", "")), "p.json: /profiles/p/top_k: 5: must be at most num_experts (4)");
  EXPECT_EQ(refused_profiles(with("-1", "")), "p.json: /profiles/p/top_k: -1: must be an integer from 1 to 32");
  EXPECT_EQ(refused_profiles(with("2.0", "")), "p.json: /profiles/p/top_k: 2.0: must be an integer from 1 to 32");
  EXPECT_EQ(refused_profiles(with("2", R"(, "layers": 3)")), "p.json: /profiles/p/layers: 3: unknown field");
  EXPECT_EQ(refused_profiles(R"({"hidden_size": 8, "num_experts": 4, "top_k": 1, "dtype": "fp8"})"),
            R"(p.json: /profiles/p/dtype: "fp8": must be one of bf16, fp16, fp32)");
}

TEST_F(suite_selection, the_arena_is_as_large_as_the_largest_case) {
  case_selection selection;
  selection.suites = {"one"};
  const auto cases = select_cases(suite_catalog(folder_), selection);
  const auto bytes_of = [](const case_spec& spec) { return static_cast<std::size_t>(spec.ep_size) * 100; };
  EXPECT_EQ(arena_bytes_for(cases, 300, bytes_of), 300U);
  EXPECT_EQ(refusal([&] { arena_bytes_for(cases, 299, bytes_of); }),
            "case one/a@ranks=3 needs 300 bytes of memory; the limit is 299 (--arena-bytes)");
}

}  // namespace
}  // namespace switchyard::harness
