// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/baseline.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "../scenario/json_members.hpp"
#include "switchyard/harness/digest.hpp"
#include "switchyard/harness/gate/verdict.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_reader.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

std::string digest_of(const std::filesystem::path& file) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%016" PRIx64, bytes_digest(read_text_file(file, max_records_bytes)));
  return text.data();
}

nlohmann::ordered_json to_json(const baseline_decision& one) {
  return {{"record", "baseline_log"}, {"schema", baseline_schema},
          {"time", one.time},         {"action", to_string(one.action)},
          {"owner", one.owner},       {"reason", one.reason},
          {"samples", one.samples},   {"digest", one.digest},
          {"testbed", one.testbed},   {"build", one.build}};
}

baseline_decision decision_from(const json_at& line) {
  require_object(line);
  if (member(line, "record").value != "baseline_log") refuse(member(line, "record"), "must be baseline_log");
  if (member(line, "schema").value != baseline_schema) {
    refuse(member(line, "schema"), "must be " + std::to_string(baseline_schema));
  }
  baseline_decision one;
  const auto action = read_sentence(member(line, "action"));
  if (action != "accept" && action != "reject") refuse(member(line, "action"), "must be accept or reject");
  one.action = action == "accept" ? baseline_action::accept : baseline_action::reject;
  one.time = read_sentence(member(line, "time"));
  one.owner = read_sentence(member(line, "owner"));
  one.reason = read_sentence(member(line, "reason"));
  one.samples = read_sentence(member(line, "samples"));
  one.digest = read_sentence(member(line, "digest"));
  one.testbed = read_sentence(member(line, "testbed"));
  one.build = read_sentence(member(line, "build"));
  return one;
}

void require_sound(const sample_set& set, const std::vector<baseline_decision>& log, const std::string& digest) {
  const input_place place{set.source, ""};
  if (!set.failures.empty()) refuse(place, "", "must have no launch that failed; " + set.failures.front());
  if (!set.clean) refuse(place, "", "must be of sources without changes, and say so, not of " + set.build);
  const gate_rules rules;
  for (const auto& one : set.series) {
    if (!one.status.empty() && one.status != "pass") refuse(place, one.id, "must pass, not " + one.status);
    if (one.status.empty() && one.time_us.size() < rules.full_launches) {
      refuse(place, one.id,
             "must have at least " + std::to_string(rules.full_launches) + " launches, not " +
                 std::to_string(one.time_us.size()));
    }
  }
  for (const auto& one : log) {
    if (one.action == baseline_action::reject && one.digest == digest) {
      refuse(place, "", "was rejected by " + one.owner + " on " + one.time + ": " + one.reason);
    }
  }
}

/// What the caller has not said.
void complete(baseline_decision& decision, const sample_set& set, const std::filesystem::path& samples) {
  for (const auto& [name, text] : {std::pair{"--owner", &decision.owner}, std::pair{"--reason", &decision.reason}}) {
    if (text->empty()) throw input_error(std::string(name) + ": must say something: it goes into the log");
  }
  decision.samples = samples.filename().string();
  decision.testbed = key_of(set.bed);
  decision.build = set.build;
}

}  // namespace

std::string_view to_string(baseline_action which) noexcept {
  switch (which) {
    case baseline_action::accept: return "accept";
    case baseline_action::reject: return "reject";
  }
  return "unknown";
}

baseline_folder::baseline_folder(std::filesystem::path folder) : folder_(std::move(folder)) {
  const auto file = folder_ / "log.jsonl";
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) return;
  const auto text = read_text_file(file, max_records_bytes);
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto name = file.string() + ": record " + std::to_string(++number);
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) refuse({name, ""}, "", "the log is cut short: this line has no end");
    const auto line = parse_json_line(rest.substr(0, end), name);
    log_.push_back(decision_from({line, {name, ""}}));
    rest.remove_prefix(end + 1);
  }
}

std::filesystem::path baseline_folder::file_of(const testbed& bed) const {
  return folder_ / (file_stem_of(bed) + ".jsonl");
}

std::vector<baseline_decision> baseline_folder::standing() const {
  std::vector<baseline_decision> result;
  for (const auto& one : log_) {
    const auto same_bed = [&](const baseline_decision& other) { return other.testbed == one.testbed; };
    if (one.action == baseline_action::accept) {
      std::erase_if(result, same_bed);
      result.push_back(one);
    } else {
      std::erase_if(result, [&](const auto& other) { return same_bed(other) && other.digest == one.digest; });
    }
  }
  return result;
}

std::optional<sample_set> baseline_folder::accepted(const testbed& bed) const {
  const auto all = standing();
  const auto found = std::ranges::find(all, key_of(bed), &baseline_decision::testbed);
  if (found == all.end()) return std::nullopt;
  const auto file = file_of(bed);
  if (digest_of(file) != found->digest) {
    refuse({file.string(), ""}, "",
           "is not what " + found->owner + " accepted on " + found->time + ": its digest differs");
  }
  return read_samples(file);
}

baseline_decision baseline_folder::accept(const std::filesystem::path& samples, baseline_decision decision,
                                          accept_what what) {
  const auto text = read_text_file(samples, max_records_bytes);
  const auto set = read_samples(samples);
  decision.action = baseline_action::accept;
  decision.digest = digest_of(samples);
  if (const auto unknown = unknown_parts(set.bed); set.has_times() && !unknown.empty()) {
    refuse({set.source, ""}, "",
           "has no " + unknown + " in its testbed, " + key_of(set.bed) + ": nothing could be compared with it");
  }
  if (what == accept_what::sound) require_sound(set, log_, decision.digest);
  complete(decision, set, samples);
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  if (failure) refuse({folder_.string(), ""}, "", "cannot be made: " + failure.message());
  write_file_atomically(file_of(set.bed), text);  // first: a log never names what is not there
  note(decision);
  return decision;
}

baseline_decision baseline_folder::reject(const std::filesystem::path& samples, baseline_decision decision) {
  const auto set = read_samples(samples);
  decision.action = baseline_action::reject;
  decision.digest = digest_of(samples);
  complete(decision, set, samples);
  const auto all = standing();
  const bool stood = std::ranges::any_of(
      all, [&](const auto& one) { return one.testbed == decision.testbed && one.digest == decision.digest; });
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  note(decision);
  if (stood) std::filesystem::remove(file_of(set.bed), failure);  // the log has it: what stays does not count
  return decision;
}

void baseline_folder::note(const baseline_decision& decision) {
  log_.push_back(decision);
  std::string text;
  for (const auto& one : log_) text += record_line(to_json(one)) + '\n';
  write_file_atomically(folder_ / "log.jsonl", text);
}

}  // namespace switchyard::harness::gate
