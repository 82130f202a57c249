// SPDX-License-Identifier: Apache-2.0
// Lamport steps over NVLink: a rank a GPU has wide blocks.
#include <gtest/gtest.h>

#include "lamport_steps.hpp"

namespace switchyard {
namespace {

class two_gpus_lamport : public test::gpu_test<2> {};

TEST_F(two_gpus_lamport, every_byte_is_the_host_fabrics) {
  for (const int ep_size : {2, 5}) test::expect_lamport_steps(ep_size, 2);
}

TEST_F(two_gpus_lamport, rows_of_a_model) { test::expect_lamport_models(2, 2); }

TEST_F(two_gpus_lamport, launches_that_overlap_or_do_not_change_nothing) {
  for (const auto pdl : {choice::off, choice::on}) {
    auto shape = test::lamport_model(2, 4);
    shape.config.enable_pdl = pdl;
    test::expect_as_on_host(shape, 2, 4);
    test::expect_outputs_without_a_pause(shape, 2, 40);
  }
}

}  // namespace
}  // namespace switchyard
