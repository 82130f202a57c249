// SPDX-License-Identifier: Apache-2.0
#include "set_reader.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "../scenario/json_members.hpp"
#include "plain_sample.hpp"
#include "switchyard/harness/digest.hpp"
#include "switchyard/harness/record_reader.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {

void set_reader::refuse_line(const std::string& rule) const {
  refuse({file_ + ": record " + std::to_string(line_number_), ""}, "", rule);
}

const nlohmann::json& set_reader::need(const json& object, const char* key) const {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end()) refuse_line(std::string(key) + " is missing");
  return *found;
}

std::string set_reader::need_text(const json& object, const char* key) const {
  const auto& value = need(object, key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    refuse_line(std::string(key) + " must be a text that is not empty");
  }
  return value.get<std::string>();
}

std::size_t set_reader::need_count(const json& object, const char* key) const {
  const auto& value = need(object, key);
  if (!value.is_number_unsigned()) refuse_line(std::string(key) + " must be an integer from 0");
  return value.get<std::size_t>();
}

double set_reader::need_time(const json& object, const char* key) const {
  const auto& value = need(object, key);
  const double time = value.is_number() ? value.get<double>() : 0;
  if (!(time > 0) || !std::isfinite(time)) refuse_line(std::string(key) + " must be a number above 0");
  return time;
}

sample_series& set_reader::series_of(const std::string& id) {
  const auto [found, added] = places_.try_emplace(id, set_.series.size());
  if (added) {
    set_.series.emplace_back();
    set_.series.back().id = id;
  }
  return set_.series[found->second];
}

void set_reader::add(const std::string& id, int launch, double time_us, bool marked) {
  auto& series = series_of(id);
  series.time_us.push_back(time_us);
  series.launches.push_back(launch);
  if (marked) ++series.marked;
  if (kind_ == file_kind::samples) seen_[static_cast<std::size_t>(launch - first_launch_)] = true;
  ++samples_;
}

void set_reader::read_file(const std::filesystem::path& path) {
  file_ = path.string();
  line_number_ = 0;
  kind_ = file_kind::none;
  first_launch_ = set_.launches;
  samples_ = failed_ = due_ = 0;
  ended_ = false;
  std::ifstream file(path, std::ios::binary);
  std::error_code failure;
  if (!file || std::filesystem::is_directory(path, failure)) refuse({file_, ""}, "", "cannot be read");
  for (std::string line; std::getline(file, line);) {
    ++line_number_;
    // The newline is the last byte of a line's one write: without it the line may be torn, even if it parses.
    if (file.eof()) refuse_line("the file is cut short: this line has no end");
    read_line(line);
  }
  if (line_number_ == 0) refuse({file_, ""}, "", "is empty");
  end_file();
}

void set_reader::read_line(const std::string& line) {
  if (ended_) refuse_line("nothing may follow samples_end");
  if (kind_ == file_kind::samples) {
    if (const auto one = plain_sample_in(line); one && one->time_us > 0) {
      scratch_ = one->scenario;
      return add(scratch_, place_of(one->launch), one->time_us, one->marked > 0);
    }
  }
  const auto object = json::parse(line, nullptr, false);
  if (!object.is_object()) refuse_line("must be a JSON object");
  if (line_number_ == 1) return begin(object);
  switch (kind_) {
    case file_kind::samples: return read_samples_line(object);
    case file_kind::bench: return read_point(object);
    case file_kind::run: return read_case(object);
    case file_kind::none: break;
  }
}

void set_reader::begin(const json& header) {
  const auto record = need_text(header, "record");
  if (record == "samples_header") {
    kind_ = file_kind::samples;
  } else if (record == "bench_header") {
    kind_ = file_kind::bench;
  } else if (record == "header") {
    kind_ = file_kind::run;
  } else {
    refuse_line("must begin with a samples_header, bench_header or header, not " + record);
  }
  if (all_ != file_kind::none && all_ != kind_) refuse_line("files of one folder must be of one kind");
  all_ = kind_;
  try {
    if (kind_ == file_kind::samples) begin_samples(header);
    if (kind_ == file_kind::bench) begin_bench(header);
    if (kind_ == file_kind::run) begin_run(header);
  } catch (const json::exception& error) {
    refuse_line(std::string("is no whole header: ") + error.what());
  }
}

void set_reader::take_build(const json& env, const testbed& bed) {
  for (const auto* key : {"git_commit", "git_dirty"}) (void)need(env, key);
  (void)need_text(env, "library_version");
  const bool clean = env["git_dirty"] == false && (set_.clean || !has_build_);  // null: nobody knows
  const auto build = build_text(env);
  if (has_build_ && (build != set_.build || bed != set_.bed)) {
    refuse_line("files of one set must be of one build and testbed, not " + set_.build + " on " + key_of(set_.bed) +
                " and " + build + " on " + key_of(bed));
  }
  set_.build = build;
  set_.clean = clean;
  set_.bed = bed;
  has_build_ = true;
}

void set_reader::begin_samples(const json& header) {
  if (need_count(header, "schema") != samples_schema) {
    refuse_line("schema must be " + std::to_string(samples_schema));
  }
  const auto& env = need(header, "env");
  take_build(env, testbed_from(need(header, "testbed")));
  constexpr std::size_t most_launches = 1'000'000;
  const auto launches = need_count(header, "launches");
  if (launches == 0 || launches > most_launches) refuse_line("launches must be 1 to 1000000");
  set_.launches += static_cast<int>(launches);
  seen_.assign(launches, false);
}

int set_reader::place_of(std::size_t launch) const {
  if (launch >= static_cast<std::size_t>(set_.launches - first_launch_)) {
    refuse_line("launch " + std::to_string(launch) + " is one more than the header announces");
  }
  return first_launch_ + static_cast<int>(launch);
}

void set_reader::read_samples_line(const json& line) {
  const auto& record = need(line, "record");
  if (record == "sample" || record == "launch_failed") {
    const int place = place_of(need_count(line, "launch"));
    if (record == "sample") {
      return add(need_text(line, "scenario"), place, need_time(line, "time_us"), need_count(line, "marked") > 0);
    }
    ++failed_;
    seen_[static_cast<std::size_t>(place - first_launch_)] = true;
    set_.failures.push_back("launch " + std::to_string(place) + ": " + need_text(line, "why"));
  } else if (record == "noise") {
    const auto& noise = need(line, "noise_us");
    if (!noise.is_number() || !(noise.get<double>() >= 0)) refuse_line("noise_us must be a number from 0");
    auto& kept = set_.noise_us[need_text(line, "scenario")];
    kept = std::max(kept, noise.get<double>());
  } else if (record == "samples_end") {
    if (need_count(line, "samples") != samples_ || need_count(line, "failed_launches") != failed_) {
      refuse_line("announces " + need(line, "samples").dump() + " samples and " + need(line, "failed_launches").dump() +
                  " failed launches; there are " + std::to_string(samples_) + " and " + std::to_string(failed_));
    }
    ended_ = true;
  } else {
    refuse_line("record must be sample, launch_failed, noise or samples_end");
  }
}

void set_reader::end_file() {
  const input_place place{file_, ""};
  if (kind_ == file_kind::samples && !ended_) refuse(place, "", "the file is cut short: samples_end is missing");
  if (kind_ == file_kind::samples) {
    const auto unseen = std::ranges::find(seen_, false);
    if (unseen != seen_.end()) {
      refuse(place, "",
             "the header announces " + std::to_string(seen_.size()) + " launches, and launch " +
                 std::to_string(unseen - seen_.begin()) + " has neither a sample nor failed");
    }
  }
  if (kind_ != file_kind::samples && samples_ != due_) {
    refuse(place, "",
           "the header announces " + std::to_string(due_) + (kind_ == file_kind::bench ? " points" : " cases") +
               " and there are " + std::to_string(samples_));
  }
}

sample_set set_reader::finish(const std::string& source) {
  if (set_.series.empty() && set_.failures.empty()) refuse({source, ""}, "", "holds no sample");
  set_.source = source;
  std::ranges::sort(set_.series, {}, &sample_series::id);
  for (const auto& one : set_.series) {
    auto launches = one.launches;
    std::ranges::sort(launches);
    const auto twice = std::ranges::adjacent_find(launches);
    if (twice != launches.end()) {
      refuse({source, ""}, "", shortened_id(one.id) + " is there twice in launch " + std::to_string(*twice));
    }
  }
  return std::move(set_);
}

const sample_series* sample_set::find(const std::string& id) const {
  const auto found = std::ranges::lower_bound(series, id, {}, &sample_series::id);
  return found != series.end() && found->id == id ? &*found : nullptr;
}

bool sample_set::has_times() const {
  return std::ranges::any_of(series, [](const auto& one) { return one.status.empty(); });
}

void add_noise(sample_set& to, const std::filesystem::path& file) {
  const auto from = read_samples(file);
  const input_place place{file.string(), ""};
  if (from.noise_us.empty()) refuse(place, "", "tells no noise: bench --aa measures it");
  if (from.bed != to.bed) {
    refuse(place, "", "tells noise on " + key_of(from.bed) + ", not on " + key_of(to.bed));
  }
  for (const auto& [id, us] : from.noise_us) to.noise_us[id] = std::max(to.noise_us[id], us);
}

namespace {

/// A copy would count each launch twice, and twice as many that agree look beyond chance.
void refuse_copies(const std::vector<std::filesystem::path>& files) {
  std::map<std::uintmax_t, std::vector<std::filesystem::path>> of_size;
  for (const auto& file : files) {
    std::error_code failure;
    const auto size = std::filesystem::file_size(file, failure);
    if (!failure) of_size[size].push_back(file);
  }
  for (const auto& [size, same] : of_size) {
    if (same.size() == 1) continue;  // read as a whole is only what may be a copy
    std::map<std::uint64_t, std::filesystem::path> known;
    for (const auto& file : same) {
      const auto [first, added] = known.try_emplace(bytes_digest(read_text_file(file, max_records_bytes)), file);
      if (!added) refuse({file.string(), ""}, "", "is a copy of " + first->second.string());
    }
  }
}

}  // namespace

sample_set read_samples(const std::filesystem::path& path) {
  set_reader reader;
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) {
    reader.read_file(path);
    return reader.finish(path.string());
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, failure)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  if (failure) refuse({path.string(), ""}, "", "cannot be read: " + failure.message());
  if (files.empty()) refuse({path.string(), ""}, "", "holds no .jsonl file");
  std::ranges::sort(files);
  refuse_copies(files);
  for (const auto& file : files) reader.read_file(file);
  return reader.finish(path.string());
}

}  // namespace switchyard::harness::gate
