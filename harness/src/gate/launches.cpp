// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/launches.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "../bench/child_lines.hpp"
#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

using nlohmann::json;

/// What must be the same in every launch of a side: not when it began, nor which points it took.
json identity_of(json header) {
  header.erase("started");
  header.erase("arguments");
  if (const auto options = header.find("options"); options != header.end() && options->is_object()) {
    options->erase("tokens");
  }
  // Where the system puts a process may differ from launch to launch.
  if (const auto machine = header.find("machine"); machine != header.end() && machine->is_object()) {
    machine->erase("cpus_allowed");
    machine->erase("memory_nodes_allowed");
  }
  return header;
}

class one_launch {
 public:
  explicit one_launch(int number) : number_(number) {}

  void take(const std::string& line) {
    const auto record = json::parse(line, nullptr, false);
    if (!record.is_object()) return;  // tables and all else
    const auto kind = record.value("record", json());
    if (kind == "bench_header" && header_.is_null()) {
      header_ = record;
      header_line_ = line;
    } else if (kind == "bench_point" && header_.is_object()) {
      auto more = samples_in(record, header_.value("options", json()), number_);
      if (more.empty()) not_whole_ = true;
      std::ranges::move(more, std::back_inserter(samples_));
    }
  }

  /// Empty: it is added. `end` is how the process ended.
  std::string add_to(launched_side& side, const std::string& end) {
    if (!end.empty()) return end;
    if (header_.is_null()) return "printed no header of a bench";
    if (not_whole_) return "printed a point that is not whole";
    if (samples_.empty()) return "printed no point";
    if (side.bench_header.empty()) {
      try {
        (void)testbed_of_bench(header_);
      } catch (const json::exception& error) {
        return std::string("printed a header that is not whole: ") + error.what();
      }
      side.bench_header = header_line_;
    } else if (identity_of(header_) != identity_of(json::parse(side.bench_header))) {
      return "is of another build, testbed or options than the launches before";
    }
    std::ranges::move(samples_, std::back_inserter(side.samples));
    return {};
  }

 private:
  int number_;
  json header_;
  std::string header_line_;
  std::vector<sample_line> samples_;
  bool not_whole_ = false;
};

}  // namespace

std::vector<std::size_t> turns_of(std::size_t sides, int launches) {
  std::vector<std::size_t> turns;
  for (int i = 0; i < launches; ++i) {
    for (std::size_t place = 0; place < sides; ++place) turns.push_back(i % 2 == 0 ? place : sides - 1 - place);
  }
  return turns;
}

void run_launches(const launch_plan& plan, std::vector<launched_side>& sides, const launch_note& note) {
  const auto turns = turns_of(plan.commands.size(), plan.launches);
  std::size_t done = 0;
  for (const auto turn : turns) {
    auto& side = sides.at(turn);
    const int number = side.launches++;
    const auto name = "launch " + std::to_string(number) +
                      (plan.commands.size() > 1 ? (turn == 0 ? " of the base" : " of this build") : "");
    note(name + ", " + std::to_string(++done) + " of " + std::to_string(turns.size()));
    one_launch launch(number);
    const auto end = read_child_lines(plan.commands[turn], std::string(), plan.patience,
                                      [&](const std::string& line) { launch.take(line); });
    const auto why = launch.add_to(side, end);
    if (!why.empty()) {
      side.failed.emplace_back(number, why);
      note(name + ' ' + why);
    }
    if (plan.after_each) plan.after_each();
  }
}

bool all_lacked_something(const launched_side& side) {
  const auto lacking = "ended with exit code " + std::to_string(static_cast<int>(exit_code::environment));
  return side.launches > 0 && side.failed.size() == static_cast<std::size_t>(side.launches) &&
         std::ranges::all_of(side.failed, [&](const auto& one) { return one.second == lacking; });
}

std::vector<std::pair<std::string, aa_noise>> noise_of(const launched_side& side) {
  std::map<std::string, std::vector<double>> times;
  for (const auto& one : side.samples) times[one.scenario].push_back(one.time_us);
  std::vector<std::pair<std::string, aa_noise>> result;
  for (const auto& [id, of] : times) {
    if (of.size() >= least_noise_launches) result.emplace_back(id, noise_of_launches(of));
  }
  return result;
}

std::string samples_text(const launched_side& side, const std::vector<std::pair<std::string, aa_noise>>& noise,
                         const std::string& started) {
  if (side.bench_header.empty()) {
    throw input_error("no launch ended well" +
                      (side.failed.empty()
                           ? std::string()
                           : ": launch " + std::to_string(side.failed[0].first) + ' ' + side.failed[0].second));
  }
  std::string text;
  const auto add = [&](const nlohmann::ordered_json& line) { text += record_line(line) + '\n'; };
  std::map<std::string, std::size_t> launches;
  add(samples_header_json(json::parse(side.bench_header), side.launches, started));
  for (const auto& one : side.samples) {
    add(to_json(one));
    ++launches[one.scenario];
  }
  for (const auto& [launch, why] : side.failed) add(launch_failed_json(launch, why));
  for (const auto& [id, one] : noise) add(noise_json(id, launches[id], one));
  add(samples_end_json(side.samples.size(), side.failed.size()));
  return text;
}

}  // namespace switchyard::harness::gate
