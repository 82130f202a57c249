// SPDX-License-Identifier: Apache-2.0
// Which shapes the options of bench make.
#include "bench_shapes.hpp"

#include <gtest/gtest.h>

#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

using harness::bench_options;
using harness::shape_text;

/// As the profile deepseek_v3 is.
bench_options profile_options() {
  bench_options options;
  options.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 16, .hidden_size = 7168};
  return options;
}

std::vector<std::string> texts_of(const bench_options& options) {
  std::vector<std::string> texts;
  for (const auto& one : options.shapes) texts.push_back(shape_text(one));
  return texts;
}

TEST(bench_shapes, without_options_there_is_the_profile_and_no_key) {
  auto options = profile_options();
  read_shapes({}, options);
  EXPECT_EQ(texts_of(options), std::vector<std::string>{"hidden 7168, top-8 of 256, bf16"});
  EXPECT_TRUE(options.named_keys.empty());
  EXPECT_EQ(options.params, profile_options().params);
  EXPECT_TRUE(shape_options_again({}).empty());
}

TEST(bench_shapes, an_option_of_one_word_takes_the_place_of_the_profile) {
  auto options = profile_options();
  bench_arguments arguments;
  arguments.formats = {"nvfp4"};
  arguments.low_precision_combines = {"fp8_block_scaled"};
  read_shapes(arguments, options);
  EXPECT_EQ(texts_of(options), std::vector<std::string>{"hidden 7168, top-8 of 256, nvfp4, combine fp8_block_scaled"});
  EXPECT_EQ(options.named_keys, (std::vector<std::string>{"dispatch_format", "low_precision_combine"}));
  EXPECT_EQ(options.params.dispatch_format, dispatch_format::nvfp4);
  EXPECT_EQ(options.low_precision_combine, low_precision::fp8_block_scaled);
}

TEST(bench_shapes, lists_make_every_combination_once) {
  auto options = profile_options();
  bench_arguments arguments;
  arguments.hidden_sizes = {"2880", "4096", "7168"};
  arguments.top_ks = {"4", "6", "8"};
  arguments.formats = {"bf16", "mxfp8", "nvfp4"};
  read_shapes(arguments, options);
  const auto texts = texts_of(options);
  ASSERT_EQ(texts.size(), 27U);
  EXPECT_EQ(texts[0], "hidden 2880, top-4 of 256, bf16");
  EXPECT_EQ(texts[1], "hidden 2880, top-4 of 256, mxfp8");
  EXPECT_EQ(texts[3], "hidden 2880, top-6 of 256, bf16");
  EXPECT_EQ(texts[9], "hidden 4096, top-4 of 256, bf16");
  EXPECT_EQ(texts[26], "hidden 7168, top-8 of 256, nvfp4");
  EXPECT_EQ(options.params.hidden_size, 2880);
  EXPECT_EQ(options.named_keys, (std::vector<std::string>{"hidden_size", "top_k", "dispatch_format"}));
  EXPECT_EQ(shape_options_again(arguments), (std::vector<std::string>{"--hidden", "2880,4096,7168", "--top-k", "4,6,8",
                                                                      "--format", "bf16,mxfp8,nvfp4"}));
}

TEST(bench_shapes, every_format_has_its_word_and_none_is_rows_of_the_dtype) {
  auto options = profile_options();
  options.params.dispatch_format = dispatch_format::mxfp8;
  bench_arguments arguments;
  arguments.formats = {"none", "bf16", "fp16", "fp8", "fp8_block128", "mxfp8", "nvfp4", "mxfp4"};
  read_shapes(arguments, options);
  ASSERT_EQ(options.shapes.size(), 8U);
  EXPECT_FALSE(options.shapes[0].dispatch_format);
  for (std::size_t i = 0; i < arguments.formats.size(); ++i) {
    EXPECT_EQ(harness::format_word(options.shapes[i].dispatch_format), arguments.formats[i]);
  }
}

std::string refusal(const bench_arguments& arguments) {
  auto options = profile_options();
  options.ranks = 4;
  try {
    read_shapes(arguments, options);
  } catch (const harness::input_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(bench_shapes, what_is_no_shape_is_refused_by_name) {
  const auto with = [](std::vector<std::string> bench_arguments::*list, std::vector<std::string> words) {
    bench_arguments arguments;
    arguments.*list = std::move(words);
    return refusal(arguments);
  };
  using given = bench_arguments;
  EXPECT_EQ(with(&given::hidden_sizes, {"7170"}), "--hidden: 7170: must be a multiple of 8");
  EXPECT_EQ(with(&given::hidden_sizes, {"0"}), "--hidden: 0: must be 8 to 65536");
  EXPECT_EQ(with(&given::top_ks, {"33"}), "--top-k: 33: must be 1 to 32");
  EXPECT_EQ(with(&given::num_experts, {"3"}), "--experts: 3: must be at least the ranks (4)");
  EXPECT_EQ(with(&given::num_experts, {"7"}), "--top-k: 8: must be at most the experts (7)");
  EXPECT_EQ(with(&given::formats, {"fp4"}),
            "--format: fp4: must be one of none, bf16, fp16, fp8, fp8_block128, mxfp8, nvfp4, mxfp4");
  EXPECT_EQ(with(&given::formats, {"bf16", "mxfp8", "bf16"}), "--format: bf16: is named twice");
  EXPECT_EQ(with(&given::low_precision_combines, {"fp4"}),
            "--low-precision-combine: fp4: must be one of none, fp8, fp8_block_scaled");
  std::vector<std::string> many;
  for (int size = 8; size <= 8 * 1001; size += 8) many.push_back(std::to_string(size));
  EXPECT_EQ(with(&given::hidden_sizes, many), "--hidden: makes more than 1000 shapes");
}

}  // namespace
}  // namespace switchyard::tools
