// SPDX-License-Identifier: Apache-2.0
// The schemas in scenarios/schema/ are those of this build's fields.
#include "switchyard/harness/json_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace switchyard::harness {
namespace {

TEST(json_schema, committed_schemas_are_the_generated_ones) {
  const auto schemas = json_schemas();
  EXPECT_EQ(schemas.size(), 3U);
  for (const auto& [name, text] : schemas) {
    std::ifstream file(SWITCHYARD_TEST_SCENARIOS "/schema/" + name, std::ios::binary);
    ASSERT_TRUE(file) << name;
    const std::string committed(std::istreambuf_iterator<char>(file), {});
    // Not EXPECT_EQ: it would print both files.
    EXPECT_TRUE(committed == text) << name << " is out of date; build and run write_schemas scenarios/schema";
  }
}

}  // namespace
}  // namespace switchyard::harness
