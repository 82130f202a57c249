// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/sample_set.hpp"

#include <nlohmann/json.hpp>

#include "../bench/sample_bench.hpp"
#include "sample_files.hpp"
#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/gate/sample_lines.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

/// What is said of a file that is refused: one line.
std::string refusal(const std::filesystem::path& path) {
  try {
    (void)read_samples(path);
  } catch (const input_error& error) {
    const std::string said = error.what();
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    return said;
  }
  return "not refused";
}

std::string refusal_of(const std::vector<std::string>& lines) {
  return refusal(write_lines(own_folder() / "f.jsonl", lines));
}

TEST(sample_set, is_read_by_scenario) {
  const auto file =
      write_lines(own_folder() / "f.jsonl",
                  {samples_header(3), sample("b", 0, 20), sample("a", 0, 10), sample("b", 1, 21, 2), sample("a", 1, 11),
                   sample("b", 2, 22), noise("b", 0.5), noise("b", 0.4),
                   R"({"record":"launch_failed","launch":2,"why":"ended with exit code 2"})", samples_end(5, 1)});
  const auto set = read_samples(file);
  EXPECT_EQ(set.launches, 3);
  EXPECT_EQ(set.build, "0.1.0, commit abc");
  EXPECT_TRUE(set.clean);
  EXPECT_EQ(key_of(set.bed), "2 x H200, links 18 x 26562 MB/s, driver 580, CUDA 13.0, x86_64");
  EXPECT_EQ(file_stem_of(set.bed), "2-x-h200-links-18-x-26562-mb-s-driver-580-cuda-13-0-x86-64");
  ASSERT_EQ(set.series.size(), 2U);
  EXPECT_EQ(set.find("a")->time_us, (std::vector<double>{10, 11}));
  EXPECT_EQ(set.find("b")->time_us, (std::vector<double>{20, 21, 22}));
  EXPECT_EQ(set.find("b")->marked, 1U);
  EXPECT_EQ(set.find("c"), nullptr);
  EXPECT_EQ(set.noise_us.at("b"), 0.5);
  EXPECT_EQ(set.failures, (std::vector<std::string>{"launch 2: ended with exit code 2"}));
}

TEST(sample_set, samples_in_any_form_of_json_are_the_same) {
  const auto folder = own_folder();
  const auto plain =
      read_samples(write_lines(folder / "f.jsonl", {samples_header(1), sample("a,b@c=1", 0, 20.5, 1), samples_end(1)}));
  const auto other = read_samples(
      write_lines(folder / "f.jsonl", {samples_header(1),
                                       R"({"marked": 1, "time_us": 2.05e1, "launch": 0, "record": "sample",)"
                                       R"("scenario": "a\u002cb@c=1"})",
                                       samples_end(1)}));
  ASSERT_EQ(plain.series.size(), 1U);
  ASSERT_EQ(other.series.size(), 1U);
  EXPECT_EQ(plain.series[0].id, other.series[0].id);
  EXPECT_EQ(plain.series[0].time_us, other.series[0].time_us);
  EXPECT_EQ(plain.series[0].marked, other.series[0].marked);
}

TEST(sample_set, takes_noise_from_another_file_of_its_testbed) {
  const auto folder = own_folder();
  auto set = read_samples(write_lines(folder / "f.jsonl", whole_file({{"a", 20}})));
  set.noise_us["a"] = 0.4;
  auto aa = whole_file({{"a", 20}, {"b", 20}});
  EXPECT_THROW(add_noise(set, write_lines(folder / "silent.jsonl", aa)), input_error);
  aa.insert(aa.end() - 1, {noise("a", 0.3), noise("b", 0.7)});
  add_noise(set, write_lines(folder / "aa.jsonl", aa));
  EXPECT_EQ(set.noise_us.at("a"), 0.4);
  EXPECT_EQ(set.noise_us.at("b"), 0.7);
  set.bed.gpus = 4;
  EXPECT_THROW(add_noise(set, folder / "aa.jsonl"), input_error);
}

TEST(sample_set, of_a_folder_counts_launches_on) {
  const auto folder = own_folder();
  write_lines(folder / "2.jsonl", whole_file({{"a", 20}}));
  write_lines(folder / "1.jsonl", whole_file({{"a", 10}}));
  write_lines(folder / "notes.txt", {"no samples"});
  const auto set = read_samples(folder);
  EXPECT_EQ(set.launches, 20);
  ASSERT_EQ(set.find("a")->time_us.size(), 20U);
  EXPECT_EQ(set.find("a")->launches.back(), 19);
  EXPECT_LT(set.find("a")->time_us.front(), 11);
}

TEST(sample_set, cut_short_empty_or_foreign_is_refused) {
  const auto whole = whole_file({{"a", 20}});
  auto cut = whole;
  cut.pop_back();
  EXPECT_NE(refusal_of(cut).find("cut short: samples_end is missing"), std::string::npos);
  cut.erase(cut.begin() + 4);
  cut.push_back(whole.back());
  EXPECT_NE(refusal_of(cut).find("announces 10 samples and 0 failed launches; there are 9 and 0"), std::string::npos);
  const auto torn = own_folder() / "torn.jsonl";
  std::ofstream(torn) << whole[0] << '\n' << whole[1].substr(0, 40);
  EXPECT_NE(refusal(torn).find("record 2: the file is cut short: this line has no end"), std::string::npos);
  EXPECT_NE(refusal_of({}).find("is empty"), std::string::npos);
  EXPECT_NE(refusal_of({samples_header(3), samples_end(0)}).find("launch 0 has neither a sample"), std::string::npos);
  EXPECT_NE(refusal(own_folder()).find("holds no .jsonl file"), std::string::npos);
  EXPECT_NE(refusal(own_folder() / "absent.jsonl").find("cannot be read"), std::string::npos);
  EXPECT_NE(refusal_of({"not JSON"}).find("record 1: must be a JSON object"), std::string::npos);
  EXPECT_NE(refusal_of({R"({"context":{}})"}).find("record is missing"), std::string::npos);
  EXPECT_NE(refusal_of({R"({"record":"case"})"}).find("must begin with"), std::string::npos);
  auto foreign = whole;
  foreign[0].replace(foreign[0].find("\"schema\":1"), 10, "\"schema\":2");
  EXPECT_NE(refusal_of(foreign).find("schema must be 1"), std::string::npos);
  auto headless = whole;
  headless[0] = R"({"record":"samples_header","schema":1})";
  EXPECT_NE(refusal_of(headless).find("env is missing"), std::string::npos);
  headless[0] = R"({"record":"samples_header","schema":1,"env":{},"testbed":{}})";
  EXPECT_NE(refusal_of(headless).find("is no whole header"), std::string::npos);
}

TEST(sample_set, a_launch_of_which_nothing_is_said_is_refused) {
  EXPECT_NE(refusal_of({samples_header(3), sample("a", 0, 1), sample("a", 2, 1), samples_end(2)})
                .find("announces 3 launches, and launch 1 has neither a sample nor failed"),
            std::string::npos);
  const std::string failed = R"({"record":"launch_failed","launch":1,"why":"ended by signal 9"})";
  EXPECT_EQ(refusal_of({samples_header(3), sample("a", 0, 1), failed, sample("a", 2, 1), samples_end(2, 1)}),
            "not refused");
}

TEST(sample_set, a_copy_in_a_folder_is_refused) {
  const auto folder = own_folder();
  write_lines(folder / "1.jsonl", whole_file({{"a", 20}}));
  write_lines(folder / "2.jsonl", whole_file({{"a", 21}}));
  EXPECT_EQ(refusal(folder), "not refused");
  write_lines(folder / "3.jsonl", whole_file({{"a", 20}}));
  EXPECT_NE(refusal(folder).find("3.jsonl: is a copy of " + (folder / "1.jsonl").string()), std::string::npos);
}

TEST(sample_set, of_several_statuses_the_worst_stands) {
  const auto run = [](const std::string& status, int started) {
    return std::vector<std::string>{
        R"({"record":"header","schema":1,"started":)" + std::to_string(started) +
            R"(,"env":{"library_version":"0.1.0","git_commit":null,"git_dirty":null},"run":{"cases":1}})",
        R"({"record":"case","id":"a/b","status":")" + status + R"("})"};
  };
  const auto folder = own_folder();
  const auto worst = [&](const std::vector<std::string>& statuses) {
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      write_lines(folder / (std::to_string(i) + ".jsonl"), run(statuses[i], static_cast<int>(i)));
    }
    return read_samples(folder).find("a/b")->status;
  };
  EXPECT_EQ(worst({"skipped", "fail"}), "fail");
  EXPECT_EQ(worst({"fail", "skipped"}), "fail");
  EXPECT_EQ(worst({"waived", "skipped"}), "skipped");
  EXPECT_EQ(worst({"pass", "waived"}), "waived");
  EXPECT_EQ(worst({"timeout", "missing"}), "timeout");
  EXPECT_EQ(worst({"pass", "pass"}), "pass");
  EXPECT_FALSE(read_samples(folder).clean);  // of sources of which nobody knows
}

TEST(sample_set, what_contradicts_itself_is_refused) {
  const auto end = samples_end(2);
  EXPECT_NE(
      refusal_of({samples_header(1), sample("a", 0, 1), sample("a", 0, 2), end}).find("a is there twice in launch"),
      std::string::npos);
  EXPECT_NE(refusal_of({samples_header(2), sample("a", 2, 1), end}).find("launch 2 is one more than the header"),
            std::string::npos);
  for (const auto* time : {"-1", "0", "null", "\"1\"", "1e999"}) {
    const auto line = R"({"record":"sample","scenario":"a","launch":0,"marked":0,"time_us":)" + std::string(time) + '}';
    EXPECT_NE(refusal_of({samples_header(2), line, end}), "not refused") << time;
  }
  EXPECT_NE(refusal_of({samples_header(2), sample("", 0, 1), end}).find("scenario must be"), std::string::npos);
  EXPECT_NE(refusal_of({samples_header(2), sample("a", 0, 1), samples_end(1), sample("a", 1, 1)}).find("nothing may"),
            std::string::npos);
  const auto folder = own_folder();
  write_lines(folder / "1.jsonl", whole_file({{"a", 20}}));
  write_lines(folder / "2.jsonl", whole_file({{"a", 20}}, "def"));
  EXPECT_NE(refusal(folder).find("one build and testbed, not 0.1.0, commit abc on "), std::string::npos);
  write_lines(folder / "2.jsonl", whole_file({{"a", 20}}, "abc", "B200"));
  EXPECT_NE(refusal(folder).find("and 0.1.0, commit abc on 2 x B200"), std::string::npos);
}

std::vector<std::string> bench_file() {
  auto options = sample_options();
  options.tokens = {16};
  options.transports = {bench_transport::automatic};
  return {bench_header_json(read_environment(), sample_machine(), options, "2026-01-01T00:00:00Z").dump(),
          to_json(sample_link()).dump(), to_json(sample_point(400'000), sample_link(), {}).dump()};
}

TEST(sample_set, a_bench_is_one_launch) {
  const auto folder = own_folder();
  write_lines(folder / "1.jsonl", bench_file());
  const auto set = read_samples(folder / "1.jsonl");
  EXPECT_EQ(set.launches, 1);
  ASSERT_EQ(set.series.size(), 3U);
  EXPECT_NE(set.series[0].id.find("phase=combine,"), std::string::npos) << set.series[0].id;
  EXPECT_EQ(set.series[0].time_us, (std::vector<double>{7}));
  EXPECT_EQ(set.series[1].time_us, (std::vector<double>{5}));
  EXPECT_EQ(set.series[2].time_us, (std::vector<double>{12}));
  auto second = bench_file();
  second[0].replace(second[0].find("2026-01-01"), 10, "2026-01-02");
  write_lines(folder / "2.jsonl", second);
  EXPECT_EQ(read_samples(folder).series[2].time_us, (std::vector<double>{12, 12}));
  auto fewer = bench_file();
  fewer.pop_back();
  EXPECT_NE(refusal_of(fewer).find("the header announces 1 points and there are 0"), std::string::npos);
  auto two = bench_file();
  two.insert(two.end() - 1, two[0]);
  EXPECT_NE(refusal_of(two).find("record 3: is a second header"), std::string::npos);
  auto other = bench_file();
  auto point = nlohmann::json::parse(other.back());
  point["tokens"] = 32;
  other.back() = point.dump();
  EXPECT_NE(refusal_of(other).find("tokens 32 over auto is no point that the header announces"), std::string::npos);
  point["tokens"] = 16;
  point["transport"] = "fence";
  other.back() = point.dump();
  EXPECT_NE(refusal_of(other).find("tokens 16 over fence is no point"), std::string::npos);
}

// As benches were named before there were shapes: baselines of then stay good.
TEST(sample_set, ids_of_a_profile_as_it_is_never_change) {
  const std::string expected =
      "bench/deepseek_v3@lamport=auto,lamport_max_tokens=256,phase=combine,ranks=2,routing=uniform,seed=1,steps=40,"
      "tokens=16,transport=auto";
  const auto lines = bench_file();
  EXPECT_EQ(read_samples(write_lines(own_folder() / "new.jsonl", lines)).series[0].id, expected);
  auto header = nlohmann::json::parse(lines[0]);
  header["schema"] = 5;
  header["options"].erase("shapes");
  header["options"].erase("named_keys");
  auto point = nlohmann::json::parse(lines[2]);
  point.erase("shape");
  EXPECT_EQ(read_samples(write_lines(own_folder() / "old.jsonl", {header.dump(), point.dump()})).series[0].id,
            expected);
}

TEST(sample_set, ids_have_what_options_named_of_the_shape) {
  auto options = sample_options();
  options.shapes = {sample_shape(), sample_grid_shape()};
  options.named_keys = {"hidden_size", "dispatch_format", "low_precision_combine", "top_k", "num_experts"};
  auto other = sample_point(400'000);
  other.shape = sample_grid_shape();
  const std::vector<std::string> lines{
      bench_header_json(read_environment(), sample_machine(), options, "2026-01-01T00:00:00Z").dump(),
      to_json(sample_point(400'000), sample_link(), {}).dump(), to_json(other, sample_link(), {}).dump()};
  const auto set = read_samples(write_lines(own_folder() / "grid.jsonl", lines));
  ASSERT_EQ(set.series.size(), 6U);
  EXPECT_EQ(set.series[0].id,
            "bench/deepseek_v3@dispatch_format=mxfp8,hidden_size=7168,lamport=auto,lamport_max_tokens=256,"
            "low_precision_combine=fp8,num_experts=256,phase=combine,ranks=2,routing=uniform,seed=1,steps=40,tokens=16,"
            "top_k=8,transport=auto");
  EXPECT_EQ(
      set.series[3].id,
      "bench/deepseek_v3@dispatch_format=none,hidden_size=7168,lamport=auto,lamport_max_tokens=256,"
      "low_precision_combine=none,num_experts=256,phase=combine,ranks=2,routing=uniform,seed=1,steps=40,tokens=16,"
      "top_k=8,transport=auto");
  EXPECT_NE(refusal_of({lines[0], lines[1]}).find("the header announces 2 points and there are 1"), std::string::npos);
  auto foreign = nlohmann::json::parse(lines[2]);
  foreign["shape"]["hidden_size"] = 4096;
  EXPECT_NE(refusal_of({lines[0], lines[1], foreign.dump()}).find("is no point that the header announces"),
            std::string::npos);
  auto torn = nlohmann::json::parse(lines[0]);
  torn["options"]["shapes"][1].erase("top_k");
  EXPECT_NE(refusal_of({torn.dump(), lines[1], lines[2]}).find("is no whole header"), std::string::npos);
}

TEST(sample_set, a_launch_gives_the_samples_that_its_file_would) {
  const auto lines = bench_file();
  const auto options = nlohmann::json::parse(lines[0]).at("options");
  const auto samples = samples_in(nlohmann::json::parse(lines[2]), options, 4);
  ASSERT_EQ(samples.size(), 3U);
  const auto set = read_samples(write_lines(own_folder() / "f.jsonl", lines));
  for (const auto& one : samples) {
    ASSERT_NE(set.find(one.scenario), nullptr) << one.scenario;
    EXPECT_EQ(set.find(one.scenario)->time_us.at(0), one.time_us);
    EXPECT_EQ(one.launch, 4);
  }
  EXPECT_TRUE(samples_in(nlohmann::json::parse(lines[1]), options, 0).empty());
  EXPECT_TRUE(samples_in(nlohmann::json(), options, 0).empty());
}

TEST(sample_set, lines_that_are_written_are_read) {
  auto header = nlohmann::json::parse(bench_file()[0]);
  const auto file =
      write_lines(own_folder() / "f.jsonl",
                  {samples_header_json(header, 2, "2026-01-01T00:00:00Z").dump(),
                   to_json(sample_line{"a", 1, 1.5, 1}).dump(), launch_failed_json(0, "ended by signal 9").dump(),
                   noise_json("a", 20, {2, 0.1, 0.2, 0.15, 0.2}).dump(), samples_end_json(1, 1).dump()});
  const auto set = read_samples(file);
  EXPECT_EQ(set.launches, 2);
  EXPECT_EQ(set.find("a")->time_us, (std::vector<double>{1.5}));
  EXPECT_EQ(set.find("a")->marked, 1U);
  EXPECT_EQ(set.noise_us.at("a"), 0.2);
  EXPECT_EQ(set.failures.size(), 1U);
}

TEST(sample_set, of_a_run_has_statuses) {
  const std::string header =
      R"({"record":"header","schema":1,"env":{"library_version":"0.1.0","git_commit":null,"git_dirty":null,)"
      R"("machine":"x86_64"},"run":{"cases":2}})";
  const std::string one = R"({"record":"case","id":"a/b","status":"pass"})";
  const std::string other = R"({"record":"case","id":"a/c","status":"fail"})";
  const auto set = read_samples(write_lines(own_folder() / "f.jsonl", {header, one, other}));
  ASSERT_EQ(set.series.size(), 2U);
  EXPECT_EQ(set.find("a/b")->status, "pass");
  EXPECT_EQ(set.find("a/c")->status, "fail");
  EXPECT_NE(refusal_of({header, one}).find("announces 2 cases and there are 1"), std::string::npos);
  EXPECT_NE(refusal_of({header, one, one}).find("a/b is there twice"), std::string::npos);
}

TEST(testbed, of_headers_of_the_earlier_schema) {
  const auto header = nlohmann::json::parse(
      R"({"env":{"machine":"x86_64"},"machine":{"driver_version":"580.159.04","gpus":[{"description":
      "NVIDIA H200, 132 multiprocessors, driver for CUDA 13000, runtime 13010"},{"description":"NVIDIA H200"}]}})");
  EXPECT_EQ(key_of(testbed_of_bench(header)), "2 x NVIDIA H200, links unknown, driver 580, CUDA 13.1, x86_64");
  const auto bed = testbed_of_bench(header);
  EXPECT_EQ(testbed_from(nlohmann::json::parse(to_json(bed).dump())), bed);
}

}  // namespace
}  // namespace switchyard::harness::gate
