// SPDX-License-Identifier: Apache-2.0
// The words that the published schema of benches allows are those that the code can write.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "../record/enum_words.hpp"
#include "switchyard/harness/bench_crossover.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_schema_words, are_those_of_the_code) {
  std::ifstream file(SWITCHYARD_BENCH_SCHEMA);
  ASSERT_TRUE(file) << SWITCHYARD_BENCH_SCHEMA;
  const auto definitions = nlohmann::json::parse(file)["$defs"];
  const auto allowed = [&](const std::string& pointer) {
    return definitions.at(nlohmann::json::json_pointer(pointer + "/enum")).get<std::set<std::string>>();
  };
  EXPECT_EQ(allowed("/memory"), words<nccl_memory>());
  EXPECT_EQ(allowed("/nccl/properties/scheme"), words<nccl_scheme>());
  EXPECT_EQ(allowed("/transport"), words<bench_transport>());
  EXPECT_EQ(allowed("/taken"), words<transport>());
  EXPECT_EQ(allowed("/grid/properties/slower/items/properties/scheme"), words<nccl_scheme>());
  EXPECT_EQ(allowed("/shape/properties/low_precision_combine"), words<low_precision>());
  EXPECT_EQ(allowed("/crossover/properties/kind"), words<crossover_kind>());
  for (const auto which : all_bench_transports) EXPECT_EQ(bench_transport_of(to_string(which)), which);
  EXPECT_FALSE(bench_transport_of("unknown"));
  EXPECT_EQ(definitions["header"]["properties"]["schema"]["const"], bench_schema);
}

}  // namespace
}  // namespace switchyard::harness
