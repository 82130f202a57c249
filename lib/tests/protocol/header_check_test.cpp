// SPDX-License-Identifier: Apache-2.0
// Blocks that do not compare headers: exact where all declare the same, blind where they do not, and as bounded in
// their waits as any.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "injection/unchecked_host_kernels.hpp"
#include "support/survivors.hpp"

namespace switchyard {
namespace {

using namespace std::chrono_literals;
using test::all_but;
using test::group_of_survivors;
using test::how;
using test::on_every_rank;
using test::spread_ids;

enum class headers : std::uint8_t { compared, taken_as_they_come };

/// A group of three, of which rank 1 posts digests that are not those of what it declares, which is what all declare.
test::group_options with_an_odd_digest(const how& way, headers are, std::uint32_t odd) {
  auto options = test::options_of_survivors(way, 3);
  options.make_fabric = [are, odd](int rank) {
    auto kernels = are == headers::compared ? host::production_kernels() : injection::unchecked_host_kernels();
    if (rank == 1) {
      kernels.dispatch = [odd, dispatch = kernels.dispatch](host::host_block& block, protocol::dispatch_params params) {
        params.words_digest ^= odd;
        dispatch(block, params);
      };
    }
    return host::make_host_fabric(kernels);
  };
  return options;
}

class header_check : public testing::TestWithParam<how> {};

TEST_P(header_check, steps_without_it_are_exact) {
  group_of_survivors all(with_an_odd_digest(GetParam(), headers::taken_as_they_come, 0));
  on_every_rank(3, [&](int rank) { all.expect_exact_steps(rank, all_but(3, {}), 20); });
}

TEST_P(header_check, is_what_finds_another_digest) {
  {
    group_of_survivors all(with_an_odd_digest(GetParam(), headers::compared, 1));
    on_every_rank(3, [&](int rank) { all.fail_a_step(rank); });
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(all.group.instance(rank).status()->code, fault_code::bad_header) << "rank " << rank;
    }
  }
  group_of_survivors all(with_an_odd_digest(GetParam(), headers::taken_as_they_come, 1));
  on_every_rank(3, [&](int rank) { all.expect_exact_steps(rank, all_but(3, {}), 5); });
}

TEST_P(header_check, without_it_headers_are_awaited_all_the_same) {
  auto options = with_an_odd_digest(GetParam(), headers::taken_as_they_come, 0);
  options.config.warmup_timeout = options.config.timeout;
  group_of_survivors all(options);
  on_every_rank(3, [&](int rank) {
    if (rank == 2) return;
    all.fail_a_step(rank);
    const auto record = all.group.instance(rank).status();
    EXPECT_EQ(record->code, fault_code::timeout);
    EXPECT_EQ(record->rank, 2);
    EXPECT_EQ(record->missing, all_but(3, {0, 1}));
  });
}

INSTANTIATE_TEST_SUITE_P(by, header_check,
                         testing::Values(how{choice::off, 1}, how{choice::off, 3}, how{choice::on, 1},
                                         how{choice::on, 3}),
                         [](const auto& by) { return by.param.name(); });

}  // namespace
}  // namespace switchyard
