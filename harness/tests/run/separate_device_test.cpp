// SPDX-License-Identifier: Apache-2.0
// Ranks whose memory the CPU reaches only by copies: the same cases pass, and what is wrong there is found.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "separate_machine.hpp"
#include "small_case.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

TEST(separate_device_test, checks_as_many_bytes_as_on_the_cpu) {
  for (const int ep_size : {1, 3}) {
    for (const auto variation : {step_variation::fixed, step_variation::vary}) {
      auto spec = small_case(ep_size);
      spec.variation = variation;
      spec.steps = 12;
      spec.params.dispatch_format = dispatch_format::mxfp8;
      const auto separate = run_separately(spec, std::make_shared<separate_machine>());
      EXPECT_EQ(separate.status, case_status::pass) << explain(separate);
      EXPECT_EQ(separate.checked_bytes, run_separately(spec, nullptr).checked_bytes);
      EXPECT_EQ(separate.times.size(), 12U);
    }
  }
}

TEST(separate_device_test, a_rank_that_stops_is_named) {
  for (const auto which : {phase::dispatch, phase::combine}) {
    auto spec = small_case(3);
    spec.inject = injected_fault{1, 1, which};
    spec.timeout = 200ms;
    spec.expected_fault = fault_code::timeout;
    const auto result = run_separately(spec, std::make_shared<separate_machine>());
    EXPECT_EQ(result.status, case_status::pass) << explain(result);
    EXPECT_EQ(result.faults.size(), 2U);
  }
}

TEST(separate_device_test, a_machine_that_is_too_small_skips_with_its_reason) {
  const auto result = run_separately(small_case(3), std::make_shared<separate_machine>(2));
  EXPECT_EQ(result.status, case_status::skipped);
  EXPECT_EQ(result.reason, "too many ranks");
}

class lost_machine final : public machine {
 public:
  [[nodiscard]] std::optional<std::string> reason_to_skip(const case_spec&) const override { return std::nullopt; }
  void require_memory(const case_spec&) const override {}
  std::vector<std::unique_ptr<rank_device>> open(const case_spec&, std::pmr::memory_resource&) override {
    throw cuda_error("the GPU is gone");
  }
  void abandon() override {}
};

TEST(separate_device_test, a_machine_that_opens_no_devices_fails_the_case) {
  const auto result = run_separately(small_case(2), std::make_shared<lost_machine>());
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_EQ(result.reason, "devices: the GPU is gone");
}

/// Ranks run, but once `fails` the machine has lost a device under them.
class losing_machine final : public machine {
 public:
  [[nodiscard]] std::optional<std::string> reason_to_skip(const case_spec&) const override { return std::nullopt; }
  void require_memory(const case_spec&) const override {}
  std::vector<std::unique_ptr<rank_device>> open(const case_spec& spec, std::pmr::memory_resource& memory) override {
    ++opened;
    return right_.open(spec, memory);
  }
  std::optional<std::string> lost() override {
    return fails ? std::optional<std::string>("GPU 1 is lost: an error") : std::nullopt;
  }
  void abandon() override {}

  bool fails = false;
  int opened = 0;

 private:
  separate_machine right_;
};

TEST(separate_device_test, a_case_under_which_a_device_is_lost_says_so_and_later_ones_are_not_run) {
  auto machine = std::make_shared<losing_machine>();
  auto spec = small_case(2);
  EXPECT_EQ(run_separately(spec, machine).status, case_status::pass);

  spec.inject = injected_fault{1, 1, phase::dispatch};  // the case fails by itself, and the device with it
  spec.timeout = 200ms;
  arena memory(2 * required_bytes(spec));
  run_options options;
  options.machine = machine;
  int asked = 0;
  options.stop_requested = [&] {
    machine->fails = ++asked > 0;
    return false;
  };
  auto result = run_case(spec, memory, options);
  EXPECT_EQ(result.status, case_status::device_lost) << explain(result);
  EXPECT_EQ(result.reason.rfind("GPU 1 is lost: an error; seen as: ", 0), 0U) << result.reason;
  EXPECT_FALSE(result.findings.empty());

  const int opened = machine->opened;
  result = run_case(small_case(2), memory, options);
  EXPECT_EQ(result.status, case_status::device_lost);
  EXPECT_EQ(result.reason, "not run: GPU 1 is lost: an error");
  EXPECT_EQ(machine->opened, opened);
  EXPECT_EQ(result.checked_bytes, 0U);
}

// The last byte of an upload of inputs belongs to its back fence.
TEST(separate_device_test, a_fence_of_the_device_is_looked_at_where_it_is) {
  const auto spec = small_case(2);
  const std::size_t ids_block = 9 * 16 + fenced_buffer::front_bytes + fenced_buffer::fence_bytes;
  const auto spoil = [&](int rank, std::byte* to, std::size_t bytes) {
    if (rank == 1 && bytes == ids_block) to[bytes - 1] ^= std::byte{1};
  };
  const auto result = run_separately(spec, std::make_shared<separate_machine>(2, spoil));
  EXPECT_EQ(result.status, case_status::fail);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].verdict, verdict::overrun) << explain(result);
  EXPECT_EQ(result.findings[0].destination, 1);
}

// A row of hidden states that reaches the device with one wrong bit is a wrong row at its receivers.
TEST(separate_device_test, a_wrong_bit_of_an_input_is_found_at_the_receiver) {
  const auto spec = small_case(2);
  const std::size_t hidden_block = 9 * 48 + fenced_buffer::front_bytes + fenced_buffer::fence_bytes;
  const auto spoil = [&](int rank, std::byte* to, std::size_t bytes) {
    if (rank == 0 && bytes == hidden_block) to[fenced_buffer::front_bytes + 5] ^= std::byte{0x10};
  };
  const auto result = run_separately(spec, std::make_shared<separate_machine>(2, spoil));
  EXPECT_EQ(result.status, case_status::fail) << explain(result);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].buffer, "hidden_states");
  EXPECT_EQ(result.findings[0].source, 0);
}

TEST(separate_device_test, checkers_that_disagree_fail_the_case_and_those_that_agree_do_not) {
  const auto says = [](std::uint64_t wrong, std::int64_t first) {
    return std::make_shared<separate_machine>(2, copy_error{}, [=](int rank) {
      rank_device::row_checks checks;
      if (rank == 1) checks.at(static_cast<std::size_t>(payload_kind::extra)) = row_verdict{wrong, first};
      return checks;
    });
  };
  EXPECT_EQ(run_separately(small_case(2), says(0, -1)).status, case_status::pass);
  const auto result = run_separately(small_case(2), says(1, 3));
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_EQ(result.reason.rfind("rank 1: check: the checkers disagree on extra in step ", 0), 0U) << result.reason;
  EXPECT_NE(result.reason.find("the device's found 1 wrong rows, the first 3, the CPU's 0"), std::string::npos)
      << result.reason;
}

TEST(separate_device_test, device_memory_holds_the_workspace_and_all_buffers) {
  const auto spec = small_case(4);
  const auto bytes = required_device_bytes(spec);
  EXPECT_GE(bytes, workspace_bytes(spec.params, {.extra_payload_bytes_per_token = spec.extra_bytes}, spec.ep_size) +
                       separate_device::block_bytes(spec));
  auto more = spec;
  more.params.max_tokens_per_rank = 120'000;
  EXPECT_GT(required_device_bytes(more), bytes);
}

}  // namespace
}  // namespace switchyard::harness
