// SPDX-License-Identifier: Apache-2.0
// usage: classify_files suite|profiles|must_pass FILE...: what the typed reader thinks of each file, one line each: ok,
// form or relation (which kind of rule is broken), then the message.
#include <functional>
#include <iostream>
#include <map>

#include "switchyard/harness/model_profile.hpp"
#include "switchyard/harness/must_pass.hpp"
#include "switchyard/harness/scenario_file.hpp"

int main(int argc, char** argv) {
  using namespace switchyard::harness;
  const std::map<std::string, std::function<void(const std::string&)>> readers{
      {"suite", [](const std::string& path) { read_suite_file(path); }},
      {"profiles", [](const std::string& path) { read_profiles_file(path); }},
      {"must_pass", [](const std::string& path) { read_must_pass_file(path); }},
  };
  const auto reader = argc > 2 ? readers.find(argv[1]) : readers.end();
  if (reader == readers.end()) {
    std::cerr << "usage: classify_files suite|profiles|must_pass FILE...\n";
    return 5;
  }
  for (int i = 2; i < argc; ++i) {
    try {
      reader->second(argv[i]);
      std::cout << "ok\n";
    } catch (const input_error& error) {
      std::cout << (error.kind() == rule_kind::form ? "form " : "relation ") << error.what() << '\n';
    }
  }
  return 0;
}
