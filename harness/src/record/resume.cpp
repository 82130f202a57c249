// SPDX-License-Identifier: Apache-2.0
// Checks that a run and the records of another belong together.
#include "switchyard/harness/resume.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "../scenario/json_members.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_reader.hpp"

namespace switchyard::harness {
namespace {

/// The parts of the header's run object that decide what a case is and which cases there are; the digest comes last,
/// because what it sums up says more where it differs.
constexpr std::array deciding{"seed", "fabric", "shard", "selection", "cases", "cases_digest"};

/// Said where the fabric is cuda.
constexpr std::array of_gpus{"gpus", "driver"};

[[noreturn]] void refuse_other(const json_at& there, const nlohmann::json& here) {
  refuse(there, "must be " + one_line(here) + ", as in this run, to be resumed");
}

void require_same_header(const json_at& there, const nlohmann::json& here) {
  const auto run = member(there, "run");
  for (const auto* key : deciding) {
    const auto mine = member(run, key);
    if (mine.value == here["run"][key]) continue;
    if (std::string_view(key) == "cases_digest") {
      refuse(mine, "the scenarios have changed since: another " + one_line(here["run"][key]) + " in this run");
    }
    refuse_other(mine, here["run"][key]);
  }
  for (const auto* key : of_gpus) {
    if (!here["run"].contains(key)) continue;
    const auto mine = member(run, key);
    if (mine.value != here["run"][key]) refuse_other(mine, here["run"][key]);
  }
  // Ranks that are processes are others each time; what they are is not.
  const auto mode = [](const nlohmann::json& run_object) {
    return run_object.contains("launch") ? run_object["launch"].value("mode", "") : std::string("threads");
  };
  if (mode(run.value) != mode(here["run"])) {
    refuse(run, "its ranks must be launched as in this run, by " + mode(here["run"]) + ", to be resumed");
  }
  const auto env = member(there, "env");
  for (const auto& [key, value] : here["env"].items()) {
    const auto mine = member(env, key);
    if (mine.value != value) refuse_other(mine, value);
  }
}

/// A record counts as if its case had been run here: it must be of that case, and agree with itself.
void require_same_case(const json_at& there, const case_spec& here, const nlohmann::json& header) {
  const auto require_equal = [](const json_at& object, const std::string& key, const nlohmann::json& value) {
    const auto mine = member(object, key);
    if (mine.value != value) refuse_other(mine, value);
  };
  require_equal(there, "seed", header["run"]["seed"]);
  require_equal(there, "suite", here.suite);
  require_equal(there, "scenario", here.name);
  const auto spec = member(there, "spec");
  require_object(spec);
  const nlohmann::json wanted = spec_json(here);
  for (const auto& [key, value] : wanted.items()) require_equal(spec, key, value);
  const auto findings = member(there, "total_findings");
  const bool passed = member(there, "status").value == to_string(case_status::pass);
  if (passed && findings.value != 0) refuse(findings, "must be 0: the case is said to have passed");
}

}  // namespace

resumed_run resume_records(const std::filesystem::path& records, const nlohmann::ordered_json& header,
                           const std::vector<case_spec>& cases) {
  resumed_run result;
  result.files = open_record_files(records);  // first, so that nobody else appends from here on
  auto found = read_records_file(records);
  const auto place_of = [&](std::size_t line) {
    return input_place{records.string() + ": record " + std::to_string(line), ""};
  };
  require_same_header({found.header, place_of(1)}, nlohmann::json(header));
  std::map<std::string_view, const case_spec*> due;
  for (const auto& spec : cases) due.emplace(spec.id, &spec);
  for (std::size_t i = 0; i < found.cases.size(); ++i) {
    const auto place = place_of(i + 2);
    auto one = parse_case_record(found.cases[i], place);
    const json_at id{found.cases[i]["id"], place.child("id")};
    const auto wanted = due.find(one.id);
    if (wanted == due.end()) refuse(id, "is not among the cases of this run");
    require_same_case({found.cases[i], place}, *wanted->second, found.header);
    one.line = std::move(found.lines[i + 1]);
    if (!result.done.emplace(one.id, std::move(one)).second) refuse(id, "is recorded twice");
  }
  result.header_line = std::move(found.lines.front());
  result.length_bytes = found.whole_bytes;
  result.torn_lines = found.torn_lines;
  if (found.torn_lines != 0 && result.files.sink->truncate(found.whole_bytes) != 0) {
    refuse({records.string(), ""}, "", std::string("its torn last line cannot be cut off: ") + std::strerror(errno));
  }
  return result;
}

}  // namespace switchyard::harness
