// SPDX-License-Identifier: Apache-2.0
// Combines in low precision with a rank alone on its GPU: by wide blocks, over the link.
#include <gtest/gtest.h>

#include "low_precision_steps.hpp"

namespace switchyard {
namespace {

class two_gpus_low_precision : public test::gpu_test<2> {};

TEST_F(two_gpus_low_precision, every_byte_is_the_host_fabrics) { test::expect_low_precision_as_on_host(2, 2); }

TEST_F(two_gpus_low_precision, rows_of_a_model) { test::expect_low_precision_model_rows_as_on_host(2); }

}  // namespace
}  // namespace switchyard
