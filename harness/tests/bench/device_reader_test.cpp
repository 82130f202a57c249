// SPDX-License-Identifier: Apache-2.0
#include "device_reader.hpp"

#include <gtest/gtest.h>

namespace switchyard::harness {
namespace {

TEST(device_reader, reads_or_says_why_not_and_never_reads_zero) {
  const device_reader reader(2);
  for (const auto& states : {reader.read(), reader.read_marks()}) {
    ASSERT_EQ(states.size(), 2U);
    for (const auto& one : states) {
      if (!reader.why_not().empty()) {
        EXPECT_FALSE(one.sm_clock_mhz || one.throttle_reasons || one.ecc_corrected || one.temperature_c ||
                     one.nvlink_data_tx_kib);
      }
      EXPECT_NE(one.sm_clock_mhz.value_or(1), 0U);
    }
  }
  EXPECT_EQ(reader.driver_version().empty(), !reader.why_not().empty());
}

TEST(device_reader, links_are_read_or_absent) {
  const device_reader reader(1);
  const auto links = reader.links(0);
  if (!reader.why_not().empty()) {
    EXPECT_FALSE(links.count || links.mb_s);
  }
  EXPECT_NE(links.mb_s.value_or(1), 0U);
}

TEST(device_reader, marks_leave_out_what_always_moves) {
  for (const auto& one : device_reader(1).read_marks()) {
    EXPECT_FALSE(one.temperature_c);
    EXPECT_FALSE(one.nvlink_data_tx_kib);
  }
}

}  // namespace
}  // namespace switchyard::harness
