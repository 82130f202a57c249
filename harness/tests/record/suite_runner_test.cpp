// SPDX-License-Identifier: Apache-2.0
// The loop over cases with a runner made by hand: books, records, progress, stops and failures.
#include "switchyard/harness/suite_runner.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sample_results.hpp"
#include "switchyard/harness/json_stream.hpp"
#include "switchyard/harness/progress.hpp"

namespace switchyard::harness {
namespace {

class text_sink final : public record_sink {
 public:
  text_sink(std::string& text, std::size_t room) : text_(text), room_(room) {}
  std::ptrdiff_t append(std::string_view bytes) override {
    const auto fits = std::min(bytes.size(), room_ - std::min(room_, text_.size()));
    text_ += bytes.substr(0, fits);
    return static_cast<std::ptrdiff_t>(fits);
  }
  int truncate(std::uint64_t length_bytes) override {
    text_.resize(length_bytes);
    return 0;
  }

 private:
  std::string& text_;
  std::size_t room_;
};

struct fixture {
  std::vector<case_spec> cases{sample_spec("a", "ranks=2"), sample_spec("a", "ranks=3"), sample_spec("b", "ranks=2")};
  std::string written;
  std::ostringstream shown;

  run_summary run(const case_runner& runner, suite_run_options options = {}, std::size_t room = 1'000'000,
                  progress_options how = {}) {
    record_writer records(std::make_unique<text_sink>(written, room));
    how.seed = options.seed;
    progress live(shown, how);
    return run_cases(cases, runner, records, live, options);
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> parsed;
    std::istringstream stream(written);
    for (std::string line; std::getline(stream, line);) parsed.push_back(nlohmann::json::parse(line));
    return parsed;
  }
};

case_result pass(const case_spec&) { return sample_pass(2000, 3'500'000); }

TEST(suite_runner, all_pass) {
  fixture f;
  const auto summary = f.run(pass);
  EXPECT_EQ(summary.code(), exit_code::all_passed);
  EXPECT_EQ(summary.outcome().count(case_status::pass), 3U);
  ASSERT_EQ(summary.rows().size(), 2U);
  EXPECT_EQ(summary.rows()[0].scenario, "a");
  EXPECT_EQ(summary.rows()[0].checked_bytes, 2'000'000U);
  EXPECT_EQ(summary.rows()[0].worst_dispatch_ns, 2000);
  EXPECT_EQ(summary.rows()[0].worst_combine_ns, 3'500'000);
  const auto lines = f.lines();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2]["id"], "u/b@ranks=2");
  EXPECT_EQ(f.shown.str().find("repeat:"), std::string::npos);
  EXPECT_NE(f.shown.str().find("[3/3] u/b@ranks=2 pass\n"), std::string::npos);
}

TEST(suite_runner, a_failure_prints_its_findings_and_how_to_repeat_it) {
  fixture f;
  suite_run_options options;
  options.seed = 42;
  const auto fail_second = [&](const case_spec& spec) { return spec.id == f.cases[1].id ? sample_fail() : pass(spec); };
  const auto summary = f.run(fail_second, options);
  EXPECT_EQ(summary.code(), exit_code::failed);
  EXPECT_EQ(f.lines().size(), 3U);
  ASSERT_EQ(summary.not_passed().size(), 1U);
  EXPECT_EQ(summary.not_passed()[0].first, "u/a@ranks=3");
  const auto text = f.shown.str();
  EXPECT_NE(text.find("fail u/a@ranks=3: 1 finding\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  " + describe(sample_fail().findings[0]) + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  and 3 findings more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  rank 1: rank 1 waited 201 ms for rank 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  repeat: switchyard run --case u/a@ranks=3 --seed 42\n"), std::string::npos) << text;
}

TEST(suite_runner, a_runner_that_throws_is_an_internal_error_and_the_run_goes_on) {
  fixture f;
  const auto summary = f.run([&](const case_spec& spec) {
    if (spec.id == f.cases[0].id) throw std::logic_error("of no use");
    if (spec.id == f.cases[1].id) throw 3;  // NOLINT: whatever comes out of a runner must be booked
    return pass(spec);
  });
  EXPECT_EQ(summary.code(), exit_code::internal_error);
  EXPECT_EQ(summary.outcome().count(case_status::crash), 2U);
  EXPECT_EQ(summary.outcome().count(case_status::pass), 1U);
  EXPECT_EQ(f.lines()[0]["reason"], "internal error: of no use");
  EXPECT_EQ(f.lines()[1]["reason"], "internal error: an exception of unknown type");
}

TEST(suite_runner, a_stop_leaves_the_rest_missing) {
  fixture f;
  int ran = 0;
  suite_run_options options;
  options.stop_requested = [&] { return ran == 1; };
  const auto summary = f.run(
      [&](const case_spec& spec) {
        ++ran;
        return pass(spec);
      },
      options);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(summary.code(), exit_code::failed);
  EXPECT_EQ(summary.outcome().count(case_status::missing), 2U);
  EXPECT_EQ(f.lines().size(), 1U);
  EXPECT_NE(f.shown.str().find("stopped: 2 cases have no record and count as missing\n"), std::string::npos);
}

TEST(suite_runner, records_that_cannot_be_written_end_the_run_and_never_pass) {
  fixture f;
  int ran = 0;
  const auto count = [&](const case_spec& spec) {
    ++ran;
    return pass(spec);
  };
  f.run(count);
  const auto one_line = f.written.find('\n') + 1;
  f.written.clear();
  ran = 0;
  const auto summary = f.run(
      count, {}, one_line + 40);  // the first record fits (its time may be a digit longer), the second one does not
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(summary.code(), exit_code::failed);
  EXPECT_EQ(summary.outcome().count(case_status::pass), 1U);
  EXPECT_EQ(summary.outcome().count(case_status::missing), 2U);
  ASSERT_EQ(f.lines().size(), 1U);
  EXPECT_NE(f.shown.str().find("a record could not be written: only "), std::string::npos) << f.shown.str();
}

TEST(suite_runner, a_case_that_was_stopped_inside_is_not_recorded) {
  fixture f;
  const auto summary = f.run([&](const case_spec& spec) {
    if (spec.id != f.cases[1].id) return pass(spec);
    case_result stopped;
    stopped.status = case_status::missing;
    return stopped;
  });
  EXPECT_EQ(summary.code(), exit_code::failed);
  EXPECT_EQ(summary.outcome().count(case_status::missing), 2U);
  EXPECT_EQ(f.lines().size(), 1U);
}

TEST(suite_runner, ends_at_the_first_failure_when_asked) {
  fixture f;
  suite_run_options options;
  options.on_failure = after_failure::stop;
  const auto summary = f.run([](const case_spec&) { return sample_fail(); }, options);
  EXPECT_EQ(summary.outcome().count(case_status::fail), 1U);
  EXPECT_EQ(summary.outcome().count(case_status::missing), 2U);
  EXPECT_EQ(f.lines().size(), 1U);
  EXPECT_NE(f.shown.str().find("ended at the first failure: 2 cases have no record"), std::string::npos);
}

TEST(suite_runner, cases_of_an_earlier_run_count_and_do_not_run) {
  fixture f;
  suite_run_options options;
  options.done[f.cases[0].id] = {f.cases[0].id, 1, sample_fail(), std::chrono::seconds(1), "its line"};
  options.done[f.cases[2].id] = {f.cases[2].id, 1, sample_pass(8000, 1), std::chrono::seconds(1), "its line"};
  std::vector<std::string> ran;
  const auto summary = f.run(
      [&](const case_spec& spec) {
        ran.push_back(spec.id);
        return pass(spec);
      },
      options);
  EXPECT_EQ(ran, std::vector<std::string>{f.cases[1].id});
  EXPECT_EQ(f.lines().size(), 1U);  // what is recorded is not recorded again
  EXPECT_EQ(summary.outcome().count(case_status::pass), 2U);
  EXPECT_EQ(summary.outcome().count(case_status::fail), 1U);
  EXPECT_EQ(summary.code(), exit_code::failed);
  EXPECT_EQ(summary.rows().at(1).worst_dispatch_ns, 8000);
  EXPECT_NE(f.shown.str().find("fail u/a@ranks=2: 1 finding"), std::string::npos) << f.shown.str();
}

TEST(suite_runner, an_internal_error_of_an_earlier_run_stays_one) {
  fixture f;
  auto crash = sample_pass(1, 1);
  crash.status = case_status::crash;
  crash.reason = std::string(internal_error_prefix) + "of no use";
  suite_run_options options;
  options.done[f.cases[0].id] = {f.cases[0].id, 1, crash, {}, "its line"};
  EXPECT_EQ(f.run(pass, options).code(), exit_code::internal_error);
}

TEST(suite_runner, quiet_progress_shows_failures_only) {
  fixture f;
  progress_options how;
  how.how = progress_options::style::quiet;
  f.run(pass, {}, 1'000'000, how);
  EXPECT_EQ(f.shown.str(), "");
  f.run([](const case_spec&) { return sample_fail(); }, {}, 1'000'000, how);
  EXPECT_EQ(f.shown.str().rfind("fail u/a@ranks=2: ", 0), 0U) << f.shown.str();
}

TEST(suite_runner, a_stream_of_json_holds_the_lines_of_the_records) {
  fixture f;
  std::ostringstream people;
  json_stream stream(f.shown, people);
  record_writer records(std::make_unique<text_sink>(f.written, 1'000'000));
  run_cases(f.cases, pass, records, stream, {});
  EXPECT_EQ(f.shown.str(), f.written);
  EXPECT_EQ(people.str(), "");
  f.shown.str("");
  suite_run_options options;
  options.stop_requested = [] { return true; };
  run_cases(f.cases, pass, records, stream, options);
  const auto error = nlohmann::json::parse(f.shown.str());
  EXPECT_EQ(error["record"], "error");
  EXPECT_EQ(error["message"], "stopped: 3 cases have no record and count as missing");
  EXPECT_EQ(error["exit_code"], nullptr);
  EXPECT_EQ(people.str(), "switchyard: stopped: 3 cases have no record and count as missing\n");
}

TEST(suite_runner, same_results_same_bytes_but_for_time) {
  fixture first;
  fixture second;
  first.run(pass);
  second.run([](const case_spec&) { return sample_pass(1, 1); });
  auto left = first.lines();
  auto right = second.lines();
  for (auto* lines : {&left, &right}) {
    for (auto& line : *lines) line.erase("time");
  }
  EXPECT_EQ(left, right);
  EXPECT_NE(first.written, second.written);
}

TEST(progress, plain_lines_stay_few_however_many_cases) {
  fixture f;
  f.cases.assign(1000, sample_spec("a", "ranks=2"));
  f.run(pass, {}, 10'000'000);
  const auto text = f.shown.str();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 20);
  EXPECT_LE(lines, 22);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(progress, a_terminal_gets_one_line_that_fits) {
  fixture f;
  progress_options how;
  how.how = progress_options::style::terminal;
  how.columns = 20;
  f.run(pass, {}, 1'000'000, how);
  const auto text = f.shown.str();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  std::size_t shown = 0;
  for (std::size_t at = 0; (at = text.find("\r\x1b[K", at)) != std::string::npos; ++shown) {
    at += 4;
    EXPECT_LT(text.find('\r', at) == std::string::npos ? 0 : text.find('\r', at) - at, 20U);
  }
  EXPECT_EQ(shown, 4U);  // three cases, and the line is cleared at the end
}

}  // namespace
}  // namespace switchyard::harness
