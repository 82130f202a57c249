// SPDX-License-Identifier: Apache-2.0
// usage: write_schemas FOLDER: writes the JSON Schemas of this build's fields; scenarios/schema is where they belong.
#include "switchyard/harness/json_schema.hpp"

#include <fstream>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_schemas FOLDER\n";
    return 5;
  }
  for (const auto& [name, text] : switchyard::harness::json_schemas()) {
    const auto path = std::string(argv[1]) + '/' + name;
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush()) {
      std::cerr << path << ": cannot be written\n";
      return 3;
    }
  }
  return 0;
}
