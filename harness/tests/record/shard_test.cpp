// SPDX-License-Identifier: Apache-2.0
// Shards are disjoint and complete, whatever their number.
#include "switchyard/harness/shard.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sample_results.hpp"

namespace switchyard::harness {
namespace {

TEST(shard, every_case_is_in_exactly_one) {
  std::vector<case_spec> cases;
  for (int i = 0; i < 7; ++i) cases.push_back(sample_spec("a", "steps=" + std::to_string(i)));
  for (std::size_t count = 1; count <= 9; ++count) {
    std::multiset<std::string> dealt;
    for (std::size_t index = 1; index <= count; ++index) {
      const auto part = deal(cases, {index, count});
      EXPECT_EQ(part.empty(), index > cases.size()) << index << '/' << count;
      EXPECT_LE(part.size(), cases.size() / count + 1);
      for (const auto& spec : part) dealt.insert(spec.id);
    }
    EXPECT_EQ(dealt.size(), cases.size()) << count;
    EXPECT_EQ(std::set<std::string>(dealt.begin(), dealt.end()).size(), cases.size()) << count;
  }
}

}  // namespace
}  // namespace switchyard::harness
