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
