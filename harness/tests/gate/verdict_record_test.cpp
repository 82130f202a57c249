// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/verdict_record.hpp"

#include <nlohmann/json.hpp>

#include "sample_files.hpp"
#include "switchyard/harness/gate/compare.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

struct compared {
  sample_set base;
  sample_set current;
  gate_result result;
};

compared three_scenarios() {
  const auto file = own_folder() / "f.jsonl";
  compared all{read_samples(write_lines(file, whole_file({{"a", 20}, {"b", 20}, {"c", 20}}))),
               read_samples(write_lines(file, whole_file({{"a", 20}, {"b", 22}, {"d", 20}}))),
               {}};
  all.base.noise_us["a"] = 1;
  all.result = compare_sets(all.base, all.current, {});
  return all;
}

TEST(verdict_record, is_read_back_as_it_was) {
  const auto all = three_scenarios();
  for (const auto& one : all.result.scenarios) {
    const auto json = to_json(one, {});
    const auto read = verdict_from(nlohmann::json::parse(json.dump()), "f.jsonl: record 1");
    EXPECT_EQ(to_json(read.verdict, read.rules), json);
    EXPECT_EQ(arithmetic_of(read.verdict, read.rules), arithmetic_of(one, {}));
  }
}

TEST(verdict_record, that_its_samples_contradict_is_refused) {
  const auto all = three_scenarios();
  const auto whole = nlohmann::json::parse(to_json(all.result.scenarios[1], {}).dump());
  const auto refusal = [](const nlohmann::json& record) {
    try {
      (void)verdict_from(record, "f.jsonl: record 2");
    } catch (const input_error& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  auto record = whole;
  record["shift"]["shift_us"] = 0.1;
  EXPECT_EQ(refusal(record), "f.jsonl: record 2: the record's numbers are not those of its samples");
  record = whole;
  record["base"]["times_us"][0] = 100;
  EXPECT_NE(refusal(record).find("not those of its samples"), std::string::npos);
  record = whole;
  record["schema"] = 2;
  EXPECT_NE(refusal(record).find("must be a gate_verdict of schema 1"), std::string::npos);
  record = whole;
  record.erase("rules");
  EXPECT_NE(refusal(record).find("is no whole verdict"), std::string::npos);
  record = whole;
  record["verdict"] = "fine";
  EXPECT_NE(refusal(record).find("verdict fine is unknown"), std::string::npos);
  EXPECT_NE(refusal(nlohmann::json::array()).find("is no whole verdict"), std::string::npos);
}

TEST(verdict_record, a_word_that_its_numbers_contradict_is_refused) {
  const auto all = three_scenarios();
  const auto refusal = [&](std::size_t which, const std::string& word, auto change) {
    auto record = nlohmann::json::parse(to_json(all.result.scenarios[which], {}).dump());
    record["verdict"] = word;
    change(record);
    try {
      (void)verdict_from(record, "f.jsonl: record 2");
    } catch (const input_error& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  const auto as_it_is = [](nlohmann::json&) {};
  const auto unjudged = [](nlohmann::json& record) { record["u_test"] = nullptr; };
  EXPECT_EQ(refusal(1, "pass", as_it_is), "f.jsonl: record 2: the record says pass, and its samples regressed");
  EXPECT_EQ(refusal(0, "improved", as_it_is), "f.jsonl: record 2: the record says improved, and its samples pass");
  EXPECT_EQ(refusal(0, "missing", as_it_is), "f.jsonl: record 2: the record says missing, and its samples pass");
  EXPECT_EQ(refusal(1, "failed", as_it_is), "not refused");  // a wrong result has no time
  EXPECT_NE(refusal(1, "pass", unjudged).find("were not judged"), std::string::npos);
  EXPECT_NE(refusal(2, "pass", as_it_is).find("were not judged"), std::string::npos);
  EXPECT_EQ(refusal(1, "regressed", as_it_is), "not refused");
  const auto by_chance = [](nlohmann::json& record) { record["u_test"]["q"] = 0.5; };
  EXPECT_NE(refusal(1, "regressed", by_chance).find("and its samples inconclusive"), std::string::npos);
  const auto wider = [](nlohmann::json& record) { record["shift"]["lower_us"] = 0.1; };
  EXPECT_NE(refusal(1, "regressed", wider).find("not those of its samples"), std::string::npos);
}

TEST(verdict_record, the_arithmetic_is_shown) {
  const auto text = arithmetic_of(three_scenarios().result.scenarios[1], {});
  for (const auto* part :
       {"b: regressed\n", "base     10 launches, median 20.045 us; sorted: 20.000 20.010",
        "slower in 100.0 of 100 pairs (ties count half); two-sided p = 1.1e-05, all ways counted",
        "q        2.2e-05, Benjamini and Hochberg over 2 scenarios", "median of 100 differences: +2.000 us (+9.98 %)",
        "the differences number 28 from either end, +1.970", "the largest of 2 % of 20.045 = 0.401, 0.300 and noise",
        "(not measured): 0.401 us", "q 2.2e-05 < 0.05 (yes) and lower bound +1.970"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(verdict_record, summary_and_table_name_what_is_not_fine) {
  const auto all = three_scenarios();
  const auto summary = summary_json(all.result, {}, all.base, all.current);
  EXPECT_EQ(summary["exit_code"], 2);
  EXPECT_EQ(summary["verdicts"]["regressed"], 1);
  EXPECT_EQ(summary["verdicts"]["missing"], 1);
  EXPECT_EQ(summary["only_in_current"], nlohmann::ordered_json::array({"d"}));
  const auto text = verdict_summary(all.result, {}, all.base, all.current);
  EXPECT_NE(text.find("1 pass, 1 regressed, 1 missing\n"), std::string::npos) << text;
  EXPECT_NE(text.find("noise above 2 %: 1: a (5.0 %)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not in the base, so not compared: 1: d\n"), std::string::npos) << text;
  const auto table = verdict_table(all.result, table_rows::but_pass);
  EXPECT_NE(table.find("| b | regressed | 20.045 | 22.045 | +2.000 | +9.98 | +1.970"), std::string::npos) << table;
  EXPECT_NE(table.find("| c | missing | 20.045 | null | null |"), std::string::npos) << table;
  EXPECT_EQ(table.find("| a |"), std::string::npos);
  EXPECT_NE(verdict_table(all.result, table_rows::all).find("| a | pass |"), std::string::npos);
}

}  // namespace
}  // namespace switchyard::harness::gate
