// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/testbed.hpp"

#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

namespace switchyard::harness::gate {
namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::string text_or_empty(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// "13.0" of 13000, as the runtime numbers its versions.
std::string version_text(int number) {
  constexpr int major = 1000;
  constexpr int minor = 10;
  return std::to_string(number / major) + '.' + std::to_string(number % major / minor);
}

/// Headers before schema 5 have the model and the runtime in a sentence: "NVIDIA H200, 132 multiprocessors, driver for
/// CUDA 13000, runtime 13000".
void read_sentence(const std::string& description, testbed& bed) {
  bed.gpu = description.substr(0, description.find(','));
  constexpr std::string_view before = "runtime ";
  const auto at = description.rfind(before);
  if (at == std::string::npos) return;
  int number = 0;
  const auto* begin = description.data() + at + before.size();
  if (std::from_chars(begin, description.data() + description.size(), number).ec == std::errc{}) {
    bed.cuda = version_text(number);
  }
}

}  // namespace

std::string key_of(const testbed& bed) {
  return std::to_string(bed.gpus) + " x " + or_unknown(bed.gpu) + ", links " + or_unknown(bed.links) + ", driver " +
         or_unknown(bed.driver_branch) + ", CUDA " + or_unknown(bed.cuda) + ", " + or_unknown(bed.machine);
}

std::string unknown_parts(const testbed& bed) {
  std::string text;
  for (const auto& [part, name] : {std::pair{&bed.gpu, "model of the GPU"}, std::pair{&bed.driver_branch, "driver"},
                                   std::pair{&bed.cuda, "CUDA version"}, std::pair{&bed.machine, "host"}}) {
    if (part->empty()) text += (text.empty() ? "" : ", no ") + std::string(name);
  }
  return text;
}

std::string file_stem_of(const testbed& bed) {
  std::string stem;
  for (const char one : key_of(bed)) {
    const auto letter = static_cast<unsigned char>(one);
    if (std::isalnum(letter) != 0) {
      stem += static_cast<char>(std::tolower(letter));
    } else if (!stem.empty() && stem.back() != '-') {
      stem += '-';
    }
  }
  return stem;
}

nlohmann::ordered_json to_json(const testbed& bed) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  nlohmann::ordered_json json;
  json["key"] = key_of(bed);
  json["gpu"] = text_or_null(bed.gpu);
  json["gpus"] = bed.gpus;
  json["links"] = text_or_null(bed.links);
  json["driver_branch"] = text_or_null(bed.driver_branch);
  json["cuda"] = text_or_null(bed.cuda);
  json["machine"] = text_or_null(bed.machine);
  return json;
}

testbed testbed_from(const nlohmann::json& json) {
  testbed bed;
  bed.gpu = text_or_empty(json.at("gpu"));
  bed.gpus = json.at("gpus").get<int>();
  bed.links = text_or_empty(json.at("links"));
  bed.driver_branch = text_or_empty(json.at("driver_branch"));
  bed.cuda = text_or_empty(json.at("cuda"));
  bed.machine = text_or_empty(json.at("machine"));
  return bed;
}

std::string build_text(const nlohmann::json& env) {
  const auto& commit = env.at("git_commit");
  return env.at("library_version").get<std::string>() + ", commit " +
         (commit.is_string() ? commit.get<std::string>() : std::string("unknown")) +
         (env.at("git_dirty") == true ? " and changes" : "");
}

testbed testbed_of_bench(const nlohmann::json& bench_header) {
  if (const auto said = bench_header.find("testbed"); said != bench_header.end()) return testbed_from(*said);
  testbed bed;
  const auto& machine = bench_header.at("machine");
  const auto& gpus = machine.at("gpus");
  bed.gpus = static_cast<int>(gpus.size());
  if (bed.gpus > 0) read_sentence(gpus.at(0).at("description").get<std::string>(), bed);
  const auto driver = text_or_empty(machine.at("driver_version"));
  bed.driver_branch = driver.substr(0, driver.find('.'));
  bed.machine = text_or_empty(bench_header.at("env").at("machine"));
  return bed;
}

}  // namespace switchyard::harness::gate
