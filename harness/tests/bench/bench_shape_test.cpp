// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_shape.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_shape, is_named_in_one_line) {
  EXPECT_EQ(shape_text(sample_shape()), "hidden 7168, top-8 of 256, bf16");
  EXPECT_EQ(shape_text(sample_grid_shape()), "hidden 7168, top-8 of 256, mxfp8, combine fp8");
}

TEST(bench_shape, comes_back_from_its_json) {
  for (const auto& shape : {sample_shape(), sample_grid_shape()}) {
    const auto text = to_json(shape).dump();
    EXPECT_EQ(bench_shape_from(nlohmann::json::parse(text)), shape) << text;
  }
  EXPECT_TRUE(to_json(sample_shape())["dispatch_format"].is_null());
  auto odd = nlohmann::json::parse(to_json(sample_shape()).dump());
  odd["dispatch_format"] = "fp5";
  EXPECT_THROW((void)bench_shape_from(odd), nlohmann::json::exception);
}

TEST(bench_shape, each_shape_is_a_bench_of_its_own) {
  auto options = sample_options();
  const auto alone = options_of_shapes(options);
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].params, options.params);
  auto small = sample_grid_shape();
  small.hidden_size = 2880;
  small.top_k = 4;
  small.num_experts = 128;
  options.shapes = {sample_shape(), small};
  const auto both = options_of_shapes(options);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].params, options.params);
  EXPECT_EQ(both[1].params.hidden_size, 2880);
  EXPECT_EQ(both[1].params.top_k, 4);
  EXPECT_EQ(both[1].params.num_experts, 128);
  EXPECT_EQ(both[1].params.dispatch_format, dispatch_format::mxfp8);
  EXPECT_EQ(both[1].params.max_tokens_per_rank, 16);
  EXPECT_EQ(both[1].low_precision_combine, low_precision::fp8);
  EXPECT_TRUE(both[1].shapes.empty());
}

TEST(bench_shape, the_header_tells_each_with_its_bytes) {
  auto options = sample_options();
  options.shapes = {sample_shape(), sample_grid_shape()};
  options.named_keys = {"dispatch_format"};
  const auto told = bench_header_json({}, sample_machine(), options, "now")["options"];
  ASSERT_EQ(told["shapes"].size(), 2U);
  EXPECT_EQ(told["shapes"][0]["dispatch_bytes_per_token"], 14336);
  EXPECT_EQ(told["shapes"][0]["combine_bytes_per_token"], 14336);
  EXPECT_EQ(told["shapes"][1]["dispatch_bytes_per_token"], 7168 + 224);
  EXPECT_EQ(told["shapes"][1]["combine_bytes_per_token"], 7168);
  EXPECT_EQ(told["named_keys"].dump(), R"(["dispatch_format"])");
}

TEST(bench_shape, stands_above_a_table_of_one_and_in_the_rows_of_several) {
  const auto one = bench_table({sample_point(0), sample_point(0)}, sample_link(), {});
  EXPECT_EQ(one.rfind("hidden 7168, top-8 of 256, bf16\n\n| tokens |", 0), 0U) << one;
  auto other = sample_point(0);
  other.shape = sample_grid_shape();
  const auto several = bench_table({sample_point(0), other}, sample_link(), {});
  EXPECT_EQ(several.rfind("| shape | tokens |", 0), 0U) << several;
  EXPECT_NE(several.find("\n| --- | ---: |"), std::string::npos) << several;
  EXPECT_NE(several.find("\n| hidden 7168, top-8 of 256, bf16 | 16 |"), std::string::npos) << several;
  EXPECT_NE(several.find("\n| hidden 7168, top-8 of 256, mxfp8, combine fp8 | 16 |"), std::string::npos) << several;
  const auto nccl = nccl_table({sample_point(0), other}, sample_link(), {"2.28.9", {}, {}},
                               {sample_nccl(nccl_memory::plain, 1, 8, 20)});
  EXPECT_NE(nccl.find("| shape | tokens | scheme |"), std::string::npos) << nccl;
  EXPECT_NE(nccl.find("| hidden 7168, top-8 of 256, bf16 | 16 | all_gather | 8.00 |"), std::string::npos) << nccl;
  EXPECT_NE(nccl.find("| hidden 7168, top-8 of 256, mxfp8, combine fp8 | 16 | all_gather | null |"), std::string::npos)
      << nccl;
}

}  // namespace
}  // namespace switchyard::harness
