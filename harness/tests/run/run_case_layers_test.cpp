// SPDX-License-Identifier: Apache-2.0
// Cases whose ranks have layers, lose one after another, and give memory back between steps; and what must not pass.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "injection/recovery_decorator.hpp"
#include "replaying_machine.hpp"
#include "small_case.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

case_spec layered_case(int layers) {
  auto spec = small_case(3);
  spec.layers = layers;
  spec.steps = 12;
  return spec;
}

TEST(case_layers, are_a_function_of_the_step) {
  auto spec = layered_case(3);
  EXPECT_EQ(layer_of(spec, 4), 1);
  spec.retire_every = 5;
  constexpr std::array left{3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 1, 1};
  for (int step = 0; step < 12; ++step) {
    EXPECT_EQ(layers_left(spec, step), left.at(static_cast<std::size_t>(step))) << step;
    EXPECT_EQ(layer_of(spec, step), step % left.at(static_cast<std::size_t>(step))) << step;
  }
  spec.checkpoint_every = 4;
  for (int step = 0; step < 12; ++step) EXPECT_EQ(is_checkpoint(spec, step), step == 4 || step == 8) << step;
  for (int step = 0; step < 12; ++step) EXPECT_FALSE(is_beside(spec, step)) << step;
  spec.side_workspace_every = 5;
  for (int step = 0; step < 12; ++step) EXPECT_EQ(is_beside(spec, step), step == 4 || step == 9) << step;
}

TEST(case_layers, have_the_formats_that_fit_in_turn) {
  using enum dispatch_format;
  EXPECT_EQ(formats_within(bf16, 160), 3) << "fp16, and fp8 without scales";
  EXPECT_EQ(formats_within(fp8_block128, 160), 4) << "mxfp8, mxfp4, fp8";
  EXPECT_EQ(formats_within(nvfp4, 160), 2) << "mxfp4";
  EXPECT_EQ(formats_within(mxfp4, 160), 1);
  EXPECT_EQ(formats_within(mxfp4, 2), 2) << "two elements of nvfp4 have as many bytes";
  auto spec = layered_case(5);
  spec.params.hidden_size = 160;
  spec.params.dispatch_format = fp8_block128;
  EXPECT_EQ(params_of_step(spec, 3).dispatch_format, fp8_block128);
  spec.layer_formats = layer_format_rule::all_that_fit;
  constexpr std::array in_turn{fp8_block128, mxfp8, mxfp4, fp8, fp8_block128};
  for (int step = 0; step < 12; ++step) {
    const auto format = in_turn.at(static_cast<std::size_t>(step) % in_turn.size());
    EXPECT_EQ(params_of_step(spec, step).dispatch_format, format) << step;
    const auto bytes = bytes_of(format, 160);
    EXPECT_EQ(payload_row_bytes(spec, payload_kind::hidden_states, step), bytes.hidden_states) << step;
    EXPECT_EQ(payload_row_bytes(spec, payload_kind::hidden_states_scale, step), bytes.hidden_states_scale) << step;
    EXPECT_LE(bytes.hidden_states, payload_row_bytes(spec, payload_kind::hidden_states));
    EXPECT_LE(bytes.hidden_states_scale, payload_row_bytes(spec, payload_kind::hidden_states_scale));
  }
  spec.retire_every = 4;
  EXPECT_EQ(layer_of(spec, 7), 3);
  EXPECT_EQ(params_of_step(spec, 7).dispatch_format, fp8) << "a format is the layer's, whichever step it runs";
}

/// What a case did with memory, on all ranks.
struct memory_log {
  std::atomic<int> opened{0};
  std::atomic<int> released{0};
  std::atomic<int> restarted{0};
  std::atomic<bool> keeps_epoch{false};
  std::atomic<bool> keeps_memory{false};
};

class logging_workspace final : public injection::recovery_decorator {
 public:
  logging_workspace(std::unique_ptr<fabric_workspace> right, std::shared_ptr<memory_log> log)
      : recovery_decorator(std::move(right)), log_(std::move(log)) {
    ++log_->opened;
  }

 private:
  void release_memory() override {
    ++log_->released;
    if (log_->keeps_memory) return;
    recovery_decorator::release_memory();
  }
  void restart(const fresh_start& start, const rank_meeting& meeting) override {
    auto changed = start;
    // One rank alone, as if it had come back from a checkpoint of an earlier time.
    if (++log_->restarted % 3 == 0 && log_->keeps_epoch) changed.at.epoch -= 2;
    recovery_decorator::restart(changed, meeting);
  }

  std::shared_ptr<memory_log> log_;
};

case_result run_logged(const case_spec& spec, const std::shared_ptr<memory_log>& log) {
  arena memory(small_arena_bytes);
  run_options options;
  options.seed = 3;
  options.make_fabric = [log](int) {
    return std::make_shared<injection::decorated_host_fabric<logging_workspace, std::shared_ptr<memory_log>>>(log);
  };
  return run_case(spec, memory, options);
}

TEST(run_case_layers, share_one_workspace_and_go_one_after_another) {
  for (const auto lamport : {choice::off, choice::on}) {
    for (const int retire_every : {0, 2}) {
      auto spec = layered_case(5);
      spec.lamport = lamport;
      spec.retire_every = retire_every;
      const auto log = std::make_shared<memory_log>();
      const auto result = run_logged(spec, log);
      EXPECT_EQ(result.status, case_status::pass) << explain(result);
      EXPECT_EQ(log->opened, 3) << "one for each rank";
      EXPECT_EQ(log->released, 0);
    }
  }
}

TEST(run_case_layers, are_exact_behind_every_checkpoint) {
  for (const int layers : {1, 4}) {
    for (const auto variation : {step_variation::fixed, step_variation::vary}) {
      auto spec = layered_case(layers);
      spec.variation = variation;
      if (variation == step_variation::vary) spec.runtime_max_tokens.reset();
      spec.checkpoint_every = 3;
      const auto log = std::make_shared<memory_log>();
      const auto result = run_logged(spec, log);
      EXPECT_EQ(result.status, case_status::pass) << explain(result);
      EXPECT_EQ(log->released, 3 * 3) << "before steps 3, 6 and 9 on each rank";
      EXPECT_EQ(log->restarted, 3 * 3);
    }
  }
}

TEST(run_case_layers, find_a_rank_that_comes_back_as_of_another_time) {
  auto spec = layered_case(2);
  spec.checkpoint_every = 5;
  spec.timeout = spec.warmup_timeout = std::chrono::milliseconds(300);
  const auto log = std::make_shared<memory_log>();
  log->keeps_epoch = true;
  const auto result = run_logged(spec, log);
  EXPECT_EQ(result.status, case_status::timeout) << explain(result);
}

TEST(run_case_layers, find_memory_that_is_not_given_back) {
  auto spec = layered_case(2);
  spec.checkpoint_every = 5;
  spec.warmup_timeout = std::chrono::milliseconds(500);  // until the others miss the rank that has found it
  const auto log = std::make_shared<memory_log>();
  log->keeps_memory = true;
  const auto result = run_logged(spec, log);
  EXPECT_NE(result.status, case_status::pass);
  EXPECT_NE(explain(result).find("checkpoint_prepare() has left memory behind"), std::string::npos) << explain(result);
}

TEST(run_case_layers, replay_what_was_captured_before_the_first_checkpoint) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    auto spec = layered_case(3);
    spec.launch = launch;
    spec.checkpoint_every = 2;
    spec.retire_every = 5;
    const auto result = run_replayed(spec, std::make_shared<replaying_machine>());
    EXPECT_EQ(result.status, case_status::pass) << to_string(launch) << ": " << explain(result);
  }
}

/// A layered case of rows that four formats share, by steps of either transport.
case_spec case_of_formats(dispatch_format format) {
  auto spec = layered_case(5);
  spec.params.hidden_size = 160;
  spec.params.dispatch_format = format;
  spec.layer_formats = layer_format_rule::all_that_fit;
  spec.steps = 20;
  return spec;
}

TEST(run_case_layers, dispatch_in_formats_of_their_own) {
  for (const auto format : {dispatch_format::bf16, dispatch_format::fp8_block128, dispatch_format::nvfp4}) {
    for (const auto values : {hidden_values::random, hidden_values::ones, hidden_values::hard_words}) {
      auto spec = case_of_formats(format);
      spec.values = values;
      spec.retire_every = 6;
      const auto result = run_on_host(spec);
      EXPECT_EQ(result.status, case_status::pass) << to_string(format) << ": " << explain(result);
    }
  }
  // Rows of 5 bytes of scales, as mxfp8 and mxfp4 have, go by no Lamport step.
  EXPECT_EQ(run_on_host(case_of_formats(dispatch_format::fp8_block128)).transport, "fence+lamport");
}

TEST(run_case_layers, replay_formats_of_their_own) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    for (const auto format : {dispatch_format::bf16, dispatch_format::fp8_block128, dispatch_format::nvfp4}) {
      auto spec = case_of_formats(format);
      spec.launch = launch;
      spec.checkpoint_every = 7;
      const auto result = run_replayed(spec, std::make_shared<replaying_machine>());
      EXPECT_EQ(result.status, case_status::pass) << to_string(launch) << ": " << explain(result);
    }
  }
}

TEST(run_case_layers, name_a_rank_whose_rows_are_of_another_width_than_the_layers) {
  auto spec = case_of_formats(dispatch_format::fp8_block128);
  // Narrower by so little that, where it puts its rows, nobody else's lie.
  spec.inject =
      injected_fault{.rank = 1, .step = 2, .kind = fault_kind::disagree, .field = step_field::hidden_states_row_bytes};
  spec.expected_fault = fault_code::step_mismatch;
  spec.recovers = true;
  const auto result = run_on_host(spec);
  ASSERT_EQ(result.status, case_status::pass) << explain(result);
  for (const auto& fault : result.faults) {
    EXPECT_EQ(std::max(fault.record.expected, fault.record.actual), 80U) << "those of mxfp4: " << fault.message;
  }
}

TEST(run_case_layers, name_a_rank_that_runs_another_one) {
  for (const auto lamport : {choice::off, choice::on}) {
    auto spec = layered_case(3);
    spec.lamport = lamport;
    spec.inject = injected_fault{.rank = 2, .step = 4, .kind = fault_kind::disagree, .field = step_field::instance};
    spec.expected_fault = fault_code::step_mismatch;
    spec.recovers = true;
    const auto result = run_on_host(spec);
    ASSERT_EQ(result.status, case_status::pass) << explain(result);
    ASSERT_EQ(result.faults.size(), 3U);
    for (const auto& fault : result.faults) {
      EXPECT_EQ(fault.record.field, step_field::instance) << fault.message;
      EXPECT_EQ(std::max(fault.record.expected, fault.record.actual), 2U) << fault.message;
      EXPECT_EQ(std::min(fault.record.expected, fault.record.actual), 1U) << fault.message;
    }
  }
}

}  // namespace
}  // namespace switchyard::harness
