// SPDX-License-Identifier: Apache-2.0
// Cases in which workspaces of another shape come and go beside that of the layers; and what they must not leave.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fabric/host/host_fabric.hpp"
#include "replaying_machine.hpp"
#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

case_spec case_with_company(int every) {
  auto spec = small_case(3);
  spec.steps = 12;
  spec.side_workspace_every = every;
  return spec;
}

TEST(run_case_beside, is_exact_before_and_behind_each) {
  for (const auto lamport : {choice::off, choice::on}) {
    for (const int every : {1, 2, 12}) {
      for (const auto variation : {step_variation::fixed, step_variation::vary}) {
        auto spec = case_with_company(every);
        spec.lamport = lamport;
        spec.layers = 2;
        spec.retire_every = 5;
        spec.checkpoint_every = 4;
        spec.variation = variation;
        if (variation == step_variation::vary) spec.runtime_max_tokens.reset();
        const auto result = run_on_host(spec);
        EXPECT_EQ(result.status, case_status::pass) << every << ": " << explain(result);
        EXPECT_EQ(result.times.size(), 12U);
      }
    }
  }
}

TEST(run_case_beside, goes_with_masks_and_formats) {
  auto spec = case_with_company(3);
  spec.enable_rank_mask = true;
  spec.masked_from = step_counts::parse("12:2:12");
  spec.rejoin_step = 7;
  spec.layers = 3;
  spec.params.hidden_size = 160;
  spec.params.dispatch_format = dispatch_format::fp8_block128;
  spec.layer_formats = layer_format_rule::all_that_fit;
  const auto result = run_on_host(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
}

TEST(run_case_beside, leaves_graphs_as_they_were) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    auto spec = case_with_company(2);
    spec.launch = launch;
    spec.layers = 2;
    spec.checkpoint_every = 5;
    const auto result = run_replayed(spec, std::make_shared<replaying_machine>());
    EXPECT_EQ(result.status, case_status::pass) << to_string(launch) << ": " << explain(result);
  }
}

/// What is never given back, of all ranks.
struct leaks {
  std::mutex mutex;
  std::vector<std::shared_ptr<fabric_workspace>> workspaces;
  std::vector<int> descriptors;
  leaks() = default;
  leaks(const leaks&) = delete;
  leaks& operator=(const leaks&) = delete;
  ~leaks() {
    for (const int each : descriptors) (void)close(each);
  }
};

/// A workspace that somebody else holds as well.
class held_workspace final : public fabric_workspace {
 public:
  explicit held_workspace(std::shared_ptr<fabric_workspace> right) : right_(std::move(right)) {}
  [[nodiscard]] std::byte* data() const noexcept override { return right_->data(); }
  void connect(comm_backend& backend, std::chrono::nanoseconds timeout) override { right_->connect(backend, timeout); }
  [[nodiscard]] launch_plan plan(const planned_step& step, stream_ref stream) const override {
    return right_->plan(step, stream);
  }
  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    right_->launch(params, plan, stream);
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    right_->launch(params, plan, stream);
  }
  [[nodiscard]] std::optional<recorded_fault> fault() const override { return right_->fault(); }
  void abort() override { right_->abort(); }
  void drain() noexcept override { right_->drain(); }

 private:
  std::shared_ptr<fabric_workspace> right_;
};

enum class leak : std::uint8_t { nothing, memory, descriptors };

class leaking_fabric final : public fabric {
 public:
  leaking_fabric(leak what, std::shared_ptr<leaks> into) : what_(what), into_(std::move(into)) {}
  [[nodiscard]] support available(int device) const override { return right_->available(device); }
  [[nodiscard]] fabric_kind stream_kind() const override { return right_->stream_kind(); }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    std::shared_ptr<fabric_workspace> opened = right_->open(request);
    const std::lock_guard lock(into_->mutex);
    if (what_ == leak::memory) into_->workspaces.push_back(opened);
    if (what_ == leak::descriptors) into_->descriptors.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return std::make_unique<held_workspace>(std::move(opened));
  }

 private:
  std::shared_ptr<fabric> right_ = host::make_host_fabric();
  leak what_;
  std::shared_ptr<leaks> into_;
};

case_result run_leaking(const case_spec& spec, leak what) {
  arena memory(required_bytes(spec));
  const auto into = std::make_shared<leaks>();
  run_options options;
  options.make_fabric = [&](int) { return std::make_shared<leaking_fabric>(what, into); };
  return run_case(spec, memory, options);
}

TEST(run_case_beside, finds_what_is_left) {
  const auto spec = case_with_company(2);
  EXPECT_EQ(run_leaking(spec, leak::nothing).status, case_status::pass);
  const auto memory = explain(run_leaking(spec, leak::memory));
  EXPECT_NE(memory.find("a workspace that was destroyed has left memory behind"), std::string::npos) << memory;
  const auto descriptors = explain(run_leaking(spec, leak::descriptors));
  EXPECT_NE(descriptors.find("open descriptors: "), std::string::npos) << descriptors;
  EXPECT_NE(descriptors.find(" behind workspace 4 that was destroyed, "), std::string::npos) << descriptors;
}

}  // namespace
}  // namespace switchyard::harness
