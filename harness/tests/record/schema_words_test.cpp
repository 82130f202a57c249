// SPDX-License-Identifier: Apache-2.0
// The words that the published schema of records allows are those that the code can write.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "enum_words.hpp"
#include "switchyard/harness/case_result.hpp"

namespace switchyard::harness {
namespace {

TEST(schema_words, are_those_of_the_code) {
  std::ifstream file(SWITCHYARD_RECORD_SCHEMA);
  ASSERT_TRUE(file) << SWITCHYARD_RECORD_SCHEMA;
  const auto definitions = nlohmann::json::parse(file)["$defs"];
  const auto allowed = [&](const std::string& pointer) {
    return definitions.at(nlohmann::json::json_pointer(pointer + "/enum")).get<std::set<std::string>>();
  };
  EXPECT_EQ(allowed("/fault_code"), words<fault_code>());
  EXPECT_EQ(allowed("/phase"), words<phase>());
  EXPECT_EQ(allowed("/mismatch_field"), words<step_field>());
  EXPECT_EQ(allowed("/finding/properties/verdict"), words<verdict>());
  EXPECT_EQ(allowed("/case/properties/status"), words<case_status>());
  EXPECT_EQ(allowed("/time/properties/faults/items/properties/awaited"), words<awaited>());
}

}  // namespace
}  // namespace switchyard::harness
