// SPDX-License-Identifier: Apache-2.0
// Reads what a record says about the machine and the build.
#include "switchyard/harness/environment.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

// Written when the build is configured.
#include "build_identity.hpp"
#include "recorded_variables.hpp"

namespace switchyard::harness {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

/// x86 names the model; on Arm the kernel gives the implementer's and the part's number, which identify it as well.
std::string read_cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string implementer;
  std::string part;
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto key = trimmed(std::string_view(line).substr(0, colon));
    const auto value = trimmed(std::string_view(line).substr(colon + 1));
    if (key == "model name") return value;
    if (key == "CPU implementer") implementer = value;
    if (key == "CPU part") part = value;
    if (!implementer.empty() && !part.empty()) return "implementer " + implementer + " part " + part;
  }
  return {};
}

int read_cpu_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());  // more CPUs than a cpu_set_t holds
}

std::uint64_t read_sysconf(int name) {
  const auto value = ::sysconf(name);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

/// Of this process: the second number of statm, in pages.
std::uint64_t read_resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  return file >> size >> resident ? resident * read_sysconf(_SC_PAGESIZE) : 0;
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

nlohmann::ordered_json number_or_null(std::uint64_t number) {
  return number == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(number);
}

}  // namespace

environment read_environment() {
  environment result;
  result.version = build_identity::version;
  result.git_commit = build_identity::git_commit;
  if (!result.git_commit.empty()) result.git_dirty = std::string_view(build_identity::git_dirty) == "1";
  result.compiler = build_identity::compiler;
  result.build_type = build_identity::build_type;
  result.sanitizers = build_identity::sanitizers;
  utsname names{};
  if (::uname(&names) == 0) {
    result.machine = names.machine;
    result.kernel = std::string(names.sysname) + ' ' + names.release;
  }
  result.cpu_model = read_cpu_model();
  result.cpu_cores = read_cpu_cores();
  result.page_bytes = read_sysconf(_SC_PAGESIZE);
  result.memory_bytes = read_sysconf(_SC_PHYS_PAGES) * result.page_bytes;
  return result;
}

nlohmann::ordered_json to_json(const environment& where) {
  nlohmann::ordered_json json;
  json["library_version"] = where.version;
  json["git_commit"] = text_or_null(where.git_commit);
  json["git_dirty"] = where.git_dirty ? nlohmann::ordered_json(*where.git_dirty) : nlohmann::ordered_json();
  json["compiler"] = where.compiler;
  json["build_type"] = where.build_type;
  json["sanitizers"] = text_or_null(where.sanitizers);
  json["machine"] = text_or_null(where.machine);
  json["kernel"] = text_or_null(where.kernel);
  json["cpu_model"] = text_or_null(where.cpu_model);
  json["cpu_cores"] = number_or_null(static_cast<std::uint64_t>(where.cpu_cores));
  json["memory_bytes"] = number_or_null(where.memory_bytes);
  json["page_bytes"] = number_or_null(where.page_bytes);
  return json;
}

nlohmann::ordered_json rank_environment_json(const environment& where) {
  nlohmann::ordered_json json;
  json["machine"] = text_or_null(where.machine);
  json["kernel"] = text_or_null(where.kernel);
  json["cpu_model"] = text_or_null(where.cpu_model);
  json["cpu_cores"] = number_or_null(static_cast<std::uint64_t>(where.cpu_cores));
  json["memory_bytes"] = number_or_null(where.memory_bytes);
  json["resident_bytes"] = number_or_null(read_resident_bytes());
  json["variables"] = variables_json();
  return json;
}

}  // namespace switchyard::harness
