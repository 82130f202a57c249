// SPDX-License-Identifier: Apache-2.0
// The checker of rows on a GPU: right rows pass, and any byte that changes is found with its row.
#include <cstring>
#include <vector>

#include "../small_case.hpp"
#include "gpu_cases.hpp"
#include "run/cuda/gpu_lane.hpp"
#include "run/cuda/row_check_kernel.hpp"
#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t seed = 4;
constexpr int step = 2;

class gpu_row_check_test : public gpu_cases<1> {
 protected:
  /// Rows of two sources with a place that holds no token between them, on the GPU.
  void check_every_byte(const case_spec& spec, payload_kind kind, random_use use) {
    const step_generator generator(spec, seed, step);
    const auto row_bytes = generator.row_bytes(kind);
    const std::vector<std::int64_t> tokens{0, 3, -1, 1, 2, 8};
    std::vector<std::byte> rows(tokens.size() * row_bytes, std::byte{0xEE});
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      if (tokens[row] >= 0) generator.fill_row(kind, row < 3 ? 0 : 1, tokens[row], rows.data() + row * row_bytes);
    }
    check_cuda(cudaSetDevice(0), "device 0");
    gpu_lane lane(0);
    const auto tokens_at = (rows.size() + 63) / 64 * 64;
    const auto found_at = tokens_at + 64;
    lane.reserve(found_at + sizeof(rows_found));
    lane.write(lane.block() + tokens_at, reinterpret_cast<const std::byte*>(tokens.data()), tokens.size() * 8);

    checked_rows what;
    what.rows = lane.block();
    what.tokens = reinterpret_cast<const std::int64_t*>(lane.block() + tokens_at);
    what.num_rows = tokens.size();
    what.tokens_per_rank = 3;
    what.law = {seed,
                step,
                use,
                spec.values,
                row_dtype(spec.params),
                rows_are_elements(spec.params),
                row_bytes,
                spec.params.dispatch_format.value_or(dispatch_format::bf16),
                static_cast<std::uint64_t>(spec.params.hidden_size)};
    what.found = reinterpret_cast<rows_found*>(lane.block() + found_at);
    const auto found = [&] {
      rows_found result;
      lane.write(lane.block() + found_at, reinterpret_cast<const std::byte*>(&result), sizeof(result));
      lane.write(lane.block(), rows.data(), rows.size());
      launch_row_check(what, lane.stream());
      const device_read read{reinterpret_cast<std::byte*>(&result), lane.block() + found_at, sizeof(result)};
      lane.read({&read, 1});
      return result;
    };
    ASSERT_EQ(found().wrong, 0U) << to_string(kind);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      rows[at] ^= std::byte{0x10};
      const auto result = found();
      rows[at] ^= std::byte{0x10};
      const bool holds_token = tokens[at / row_bytes] >= 0;
      ASSERT_EQ(result.wrong, holds_token ? 1U : 0U) << to_string(kind) << " byte " << at;
      if (holds_token) {
        ASSERT_EQ(result.first, at / row_bytes) << to_string(kind) << " byte " << at;
      }
    }
    rows[0] ^= std::byte{1};
    rows[rows.size() - 1] ^= std::byte{1};
    const auto both = found();
    EXPECT_EQ(both.wrong, 2U);
    EXPECT_EQ(both.first, 0U);
  }
};

TEST_F(gpu_row_check_test, finds_every_byte_that_changes) {
  for (const auto values : all_hidden_values) {
    auto spec = small_case(2);
    spec.values = values;
    spec.params.hidden_size = 33;
    check_every_byte(spec, payload_kind::hidden_states, random_use::hidden_states);
  }
  for (const auto format : {dispatch_format::fp8, dispatch_format::fp8_block128, dispatch_format::mxfp8,
                            dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    for (const auto values : {hidden_values::random, hidden_values::bits}) {
      auto spec = small_case(2);
      spec.params.dispatch_format = format;
      spec.params.hidden_size = 70;
      spec.values = values;
      check_every_byte(spec, payload_kind::hidden_states, random_use::hidden_states);
      check_every_byte(spec, payload_kind::extra, random_use::extra);
      if (format == dispatch_format::fp8) continue;
      check_every_byte(spec, payload_kind::hidden_states_scale, random_use::hidden_states_scale);
    }
  }
}

}  // namespace
}  // namespace switchyard::harness
