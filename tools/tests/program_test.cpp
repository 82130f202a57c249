// SPDX-License-Identifier: Apache-2.0
// The program from outside: what it prints, what it writes, how it exits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "switchyard/harness/record_reader.hpp"

namespace switchyard::tools {
namespace {

namespace fs = std::filesystem;

struct outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string content_of(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class program : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("program_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "scenarios");
    write("profiles.json", R"({"description": "d", "profiles": {"tiny": {"hidden_size": 64, "top_k": 2,
        "num_experts": 6, "dtype": "bf16", "dispatch_format": "bf16"}}})");
    write("small.json", suite("small", R"("steps": 2, "sweep": {"kind": "product", "axes": {"ranks": [1, 2],
        "tokens": [0, 5], "variation": ["fixed", "vary"]}})"));
  }

  static std::string suite(const std::string& name, const std::string& more) {
    return R"({"suite": ")" + name + R"(", "description": "d", "scenarios": [{"name": "s", "sentence": "x",
        "tags": ["quick"], "profile": "tiny", )" +
           more + "}]}";
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / "scenarios" / name) << text;
  }

  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), SWITCHYARD_TEST_PROGRAM);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const auto out = (folder_ / "out").string();
    const auto err = (folder_ / "err").string();
    const pid_t child = ::fork();
    if (child == 0) {
      const int out_file = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      const int err_file = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      if (::dup2(out_file, 1) < 0 || ::dup2(err_file, 2) < 0 || ::chdir(folder_.c_str()) != 0) ::_exit(126);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    return child;
  }
  [[nodiscard]] outcome finish(pid_t child) const {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    outcome result;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result.out = content_of(folder_ / "out");
    result.err = content_of(folder_ / "err");
    return result;
  }
  /// Runs the program to its end with this test's scenarios.
  outcome run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--scenarios", (folder_ / "scenarios").string()});
    return finish(start(std::move(arguments)));
  }

  /// The files of `where` whose names end so, in order.
  [[nodiscard]] std::vector<fs::path> files(const std::string& where, const std::string& ending) const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_ / where)) return found;
    for (const auto& entry : fs::directory_iterator(folder_ / where)) {
      if (entry.path().string().ends_with(ending)) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  [[nodiscard]] harness::run_records only_records(const std::string& where) const {
    const auto found = files(where, ".jsonl");
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? harness::run_records{} : harness::read_records_file(found.front());
  }

  fs::path folder_;
};

TEST_F(program, runs_a_suite_and_records_it) {
  const auto result = run({"run", "small"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("suite  scenario  cases  pass"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("host fabric, not NVLink"), std::string::npos) << result.out;
  const auto records = only_records("records");
  EXPECT_EQ(records.cases.size(), 8U);
  EXPECT_EQ(records.missing_cases, 0U);
  for (const auto& one : records.cases) EXPECT_EQ(one["status"], "pass") << one.dump();
  const auto summaries = files("records", ".summary.json");
  ASSERT_EQ(summaries.size(), 1U);
  const auto summary = nlohmann::json::parse(content_of(summaries.front()));
  EXPECT_EQ(summary["cases"]["pass"], 8);
  EXPECT_EQ(summary["exit_code"], 0);
}

TEST_F(program, same_seed_same_bytes_and_another_seed_other_bytes) {
  const auto cases_with_seed = [&](const std::string& seed, const std::string& where) {
    EXPECT_EQ(run({"run", "small", "--seed", seed, "--out", where}).code, 0);
    std::vector<std::string> lines;
    for (auto one : only_records(where).cases) {
      one.erase("time");
      lines.push_back(one.dump());
    }
    return lines;
  };
  const auto first = cases_with_seed("7", "a");
  EXPECT_EQ(first.size(), 8U);
  EXPECT_EQ(first, cases_with_seed("7", "b"));
  EXPECT_NE(first, cases_with_seed("8", "c"));
}

TEST_F(program, one_case_is_repeated_exactly) {
  ASSERT_EQ(run({"run", "small", "--seed", "3", "--out", "all"}).code, 0);
  const std::string id = "small/s@ranks=2,tokens=5,variation=vary";
  ASSERT_EQ(run({"run", "--case", id, "--seed", "3", "--out", "one"}).code, 0);
  const auto one = only_records("one");
  ASSERT_EQ(one.cases.size(), 1U);
  auto repeated = one.cases.front();
  repeated.erase("time");
  for (auto original : only_records("all").cases) {
    if (original["id"] != id) continue;
    original.erase("time");
    EXPECT_EQ(repeated.dump(), original.dump());
    return;
  }
  FAIL() << id << " was not in the whole run";
}

TEST_F(program, ranks_can_be_replaced_and_the_new_id_works) {
  ASSERT_EQ(run({"run", "small", "--ranks", "3", "--filter", "*tokens=5*", "--out", "r"}).code, 0);
  const auto records = only_records("r");
  ASSERT_EQ(records.cases.size(), 2U);
  EXPECT_EQ(records.cases[0]["spec"]["ranks"], 3);
  EXPECT_EQ(run({"run", "--case", records.cases[0]["id"]}).code, 0);
}

TEST_F(program, a_rank_that_stops_and_faults_as_expected_is_a_pass) {
  write("faults.json", suite("faults", R"("ranks": 3, "tokens": 4, "steps": 2, "timeout_ms": 200,
      "expected_fault": "timeout", "inject": {"kind": "stop", "rank": 1, "step": 1}, "sweep": {"kind": "product",
      "axes": {"inject.phase": ["dispatch", "combine"]}})"));
  const auto result = run({"run", "faults"});
  EXPECT_EQ(result.code, 0) << result.out;
  for (const auto& one : only_records("records").cases) {
    EXPECT_EQ(one["status"], "pass");
    ASSERT_EQ(one["faults"].size(), 2U) << one.dump();
    for (const auto& fault : one["faults"]) EXPECT_EQ(fault["code"], "timeout");
  }
}

TEST_F(program, a_case_that_fails_says_how_to_repeat_it) {
  // A deadline of one millisecond that ranks arriving up to 0.2 s apart cannot keep.
  write("hasty.json", suite("hasty", R"("ranks": 2, "tokens": 1, "steps": 20, "timeout_ms": 1, "late_us": 200000)"));
  const auto result = run({"run", "hasty", "--seed", "9"});
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_NE(result.out.find(std::string("repeat: " SWITCHYARD_TEST_PROGRAM " run --scenarios ") +
                            (folder_ / "scenarios").string() + " --case hasty/s --seed 9\n"),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("exit code 2: "), std::string::npos) << result.out;
  const auto records = only_records("records");
  ASSERT_EQ(records.cases.size(), 1U);
  EXPECT_NE(records.cases[0]["status"], "pass");
  EXPECT_NE(records.cases[0]["reason"], "");
}

TEST_F(program, an_interrupt_ends_the_run) {
  // Each case waits for late ranks for at least a moment; there are enough of them to be caught in the middle.
  write("slow.json",
        suite("slow", R"("ranks": 2, "tokens": 1, "steps": 40, "late_us": 20000, "sweep": {"kind": "product",
      "axes": {"extra_bytes": [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]}})"));
  const auto child = start({"run", "slow", "--scenarios", (folder_ / "scenarios").string()});
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (content_of(folder_ / "out").empty() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(::kill(child, SIGINT), 0);
  const auto result = finish(child);
  EXPECT_EQ(result.code, 2) << result.out << result.err;
  EXPECT_NE(result.out.find("count as missing"), std::string::npos) << result.out;
  const auto records = only_records("records");
  EXPECT_EQ(records.torn_lines, 0U);
  EXPECT_GE(records.cases.size(), 1U);
  EXPECT_GE(records.missing_cases, 1U);
  EXPECT_EQ(records.cases.size() + records.missing_cases, 20U);
  const auto summary = nlohmann::json::parse(content_of(files("records", ".summary.json").at(0)));
  EXPECT_EQ(summary["cases"]["missing"], records.missing_cases);
}

TEST_F(program, cases_that_must_pass_are_held_to_it) {
  fs::create_directories(folder_ / "scenarios" / "must_pass");
  const auto list = [&](const std::string& name, const std::string& cases) {
    write("must_pass/" + name + ".json",
          R"({"must_pass": ")" + name + R"(", "description": "d", "cases": [)" + cases + "]}");
  };
  list("kept", R"("small/s@ranks=1,*", "small/s@ranks=2,tokens=5,variation=vary")");
  list("lost", R"("small/s@ranks=1,*", "small/gone*")");
  EXPECT_EQ(run({"run", "small", "--must-pass", "kept"}).code, 0);

  const auto lost = run({"run", "small", "--must-pass", "kept", "--must-pass", "lost"});
  EXPECT_EQ(lost.code, 2);
  EXPECT_NE(lost.out.find("must pass (lost): small/gone*: matches no case of this run"), std::string::npos) << lost.out;

  const auto unknown = run({"run", "small", "--must-pass", "nowhere"});
  EXPECT_EQ(unknown.code, 5);
  EXPECT_NE(unknown.err.find("nowhere"), std::string::npos) << unknown.err;
}

TEST_F(program, lists_suites_and_cases) {
  const auto suites = run({"list"});
  EXPECT_EQ(suites.code, 0);
  EXPECT_EQ(suites.out, "small: d (8 cases)\n  small/s  8 cases  x [quick]\n");
  const auto cases = run({"list", "small", "--cases", "--filter", "*ranks=2,tokens=5*"});
  EXPECT_EQ(cases.out, "small/s@ranks=2,tokens=5,variation=fixed\nsmall/s@ranks=2,tokens=5,variation=vary\n");
  EXPECT_EQ(run({"list", "--tag", "quick"}).out, suites.out);
  EXPECT_EQ(run({"list", "--tag", "slow"}).code, 5);
}

TEST_F(program, help_and_version) {
  const auto version = finish(start({"--version"}));
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out.rfind("switchyard ", 0), 0U) << version.out;
  for (const auto& command :
       {std::vector<std::string>{"--help"}, {"run", "--help"}, {"list", "--help"}, {"explain", "--help"}}) {
    const auto help = finish(start(command));
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find("Usage: switchyard"), std::string::npos) << help.out;
  }
}

TEST_F(program, bad_usage_is_one_line_and_exit_code_5_and_no_records) {
  write("broken.json", "{");
  std::ofstream(folder_ / "file") << "x";
  struct usage {
    std::vector<std::string> arguments;
    std::string message;
  };
  const auto scenarios = (folder_ / "scenarios").string();
  const std::vector<usage> usages{
      {{"run"}, "nothing to run: name a suite (broken, small) or give --case ID"},
      {{"run", "none"}, "suite none: unknown; " + scenarios + " has broken, small"},
      {{"run", "broken"}, scenarios + "/broken.json: line 1, column 2: not JSON: "},
      {{"list"}, scenarios + "/broken.json: line 1, column 2: not JSON: "},
      {{"run", "./none.json"}, "./none.json: no such file"},
      {{"run", "small", "--fast"}, "The following argument was not expected: --fast"},
      {{"run", "--case", "small"}, "case id small: must be suite/scenario@key=value,...: no '/'"},
      {{"run", "--case", "small/t"}, "suite small has no scenario t"},
      {{"run", "--case", "small/s"}, "case id: @ranks: missing: small/s sweeps it"},
      {{"run", "--case", "small/s", "--ranks", "2"}, "--case names one case: --ranks, --filter and --tag do not"},
      {{"run", "small", "--filter", "none*"}, "no case of these suites is left by --filter none*"},
      {{"run", "small", "--tag", "none"}, "no case of these suites is left by --tag none"},
      {{"run", "small", "--ranks", "7"}, "--ranks: 7: must be at most num_experts (6)"},
      {{"run", "small", "--ranks", "0"}, "--ranks: 0: must be an integer from 1 to 256"},
      {{"run", "small", "--seed", "-1"}, "--seed: -1: must be an integer from 0 to 18446744073709551615"},
      {{"run", "small", "--seed", "18446744073709551616"}, "--seed: 18446744073709551616: must be an integer"},
      {{"run", "small", "--seed", "0x1"}, "--seed: 0x1: must be an integer"},
      {{"run", "small", "--arena-bytes", "-5"}, "--arena-bytes: -5: must be a number of bytes below 2^64"},
      {{"run", "small", "--arena-bytes", "16777216T"}, "--arena-bytes: 16777216T: must be a number of bytes"},
      {{"run", "small", "--arena-bytes", "1K"}, "case small/s@"},
      {{"run", "small", "--out", "file"}, "file: records cannot be written there: "},
      {{"run", "small", "--out", "/proc/none"}, "/proc/none: records cannot be written there: "},
      {{"bench", "--tokens", "1,0"}, "--tokens: 0: must be 1 to 65536"},
      {{"bench", "--ranks", "9"}, "--ranks: 9: must be 2 to 8"},
      {{"bench", "--profile", "none"}, "--profile: none: must be one of "},
      {{"bench", "--profile", "tiny", "--hidden", "7168,7169"}, "--hidden: 7169: must be a multiple of 8"},
      {{"bench", "--profile", "tiny", "--top-k", "8", "--experts", "4"}, "--top-k: 8: must be at most the experts (4)"},
      {{"bench", "--profile", "tiny", "--format", "bf16,int8"}, "--format: int8: must be one of none, bf16, "},
      {{"bench", "--profile", "tiny", "--low-precision-combine", "fp4"},
       "--low-precision-combine: fp4: must be one of none, fp8, "},
      {{"tune", "--format", "bf16"}, "The following arguments were not expected: "},
      {{"bench", "--routing", "zipf"}, "--routing: zipf: must be one of uniform, balanced, local, remote"},
      {{"bench", "--rates", "wire"}, "--rates: wire: must be one of logical, selection"},
      {{"bench", "--host-jitter-us", "1s"}, "--host-jitter-us: 1s: must be "},
      {{"bench", "--lamport", "no"}, "--lamport: no: must be one of off, auto, on"},
      {{"bench", "--lamport-max-tokens", "0"}, "--lamport-max-tokens: 0: must be "},
      {{"bench", "--transports", "fence,no"}, "--transports: no: must be one of fence, lamport, auto"},
      {{"bench", "--transports", "auto,fence,auto"}, "--transports: auto: is named twice"},
      {{"bench", "--transports", "auto", "--lamport", "on"}, "--transports excludes --lamport"},
      {{"bench", "--variants", "unchecked,odd"}, "--variants: odd: must be one of unchecked, masked"},
      {{"bench", "--variants", "usual"}, "--variants: usual: must be one of unchecked, masked"},
      {{"bench", "--variants", "masked,masked"}, "--variants: masked: is named twice"},
      {{"bench", "--variants", "masked", "--repeat", "3"}, "--variants: not with --repeat"},
      {{"bench", "--variants", "masked", "--launches", "3"}, "--variants: not with --launches"},
      {{"tune", "--max-tokens", "1"}, "--max-tokens: 1: must be 2 to 65536"},
      {{"tune", "--profile", "none"}, "--profile: none: must be one of "},
      {{"tune", "--transports", "fence"}, "The following arguments were not expected: "},
      {{"bench", "--repeat", "0"}, "--repeat: 0: must be 1 to 100"},
      {{"rnu"},
       "unknown command rnu; commands are list, run, explain, bench, tune, compare, gate, baseline, export and "
       "selftest"},
  };
  for (const auto& [arguments, message] : usages) {
    const auto result = run(arguments);
    EXPECT_EQ(result.code, 5) << message;
    EXPECT_EQ(result.out, "") << message;
    EXPECT_EQ(result.err.rfind("switchyard: " + message, 0), 0U) << result.err << "  instead of: " << message;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(finish(start({})).code, 5);
  EXPECT_EQ(files("records", "").size(), 0U);
}

}  // namespace
}  // namespace switchyard::tools
