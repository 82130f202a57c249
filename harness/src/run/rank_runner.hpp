// SPDX-License-Identifier: Apache-2.0
// One rank of a running case: its thread enqueues steps, its stream exchanges, computes and checks.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "case_state.hpp"
#include "rank_device.hpp"
#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/declared_step.hpp"
#include "switchyard/harness/step_plan.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::injection {
class launch_switch;
}  // namespace switchyard::injection

namespace switchyard::harness {

/// Everything of a step is enqueued without waiting for peers: checks and the simulated experts are tasks on the
/// stream, between the phases. So a rank runs ahead of the others as far as the protocol lets it.
class rank_runner {
 public:
  rank_runner(case_state& state, int rank);

  /// The rank's whole life, from construction to destruction. What goes wrong is in the outcome.
  void run();

 private:
  void construct();
  [[nodiscard]] bootstrap make_bootstrap();
  /// Until all ranks have come.
  void meet();
  struct rank_workspace;
  void make_workspace(const bootstrap& boot, const comm_params& params, rank_workspace& into);
  /// The instances, which share one workspace.
  void make_layers(const bootstrap& boot);
  [[nodiscard]] one_sided_all_to_all& layer(int number);
  /// What the case does between steps. False when this rank goes no further.
  bool come_to(int step);
  bool checkpoint(int step);
  /// Between the two halves of a checkpoint.
  void expect_no_use();
  /// The workspace is new: what lies there is poisoned anew where it has to be.
  void forget_views();
  /// Makes a workspace beside that of the layers, in which the next step runs. False when this rank goes no further.
  bool go_beside();
  /// Destroys it, looks for what is left of it, and goes on in that of the layers.
  bool come_back();
  [[nodiscard]] bool is_beside_layers() const { return layers_workspace_.exchange != nullptr; }
  /// Which end of the exchange is aborted when the case is called off.
  void say_live(one_sided_all_to_all* end);
  void run_steps();
  /// The steps of a case whose workspaces lack room.
  void run_refused();
  /// Steps first .. last - 1, as long as this rank goes on.
  void run_steps(int first, int last);
  /// What the fault left is kept, then the group starts anew with step `behind`. False when the case was called off.
  bool recover(int behind);
  /// Whether the others recover without this rank.
  [[nodiscard]] bool is_left_out() const;
  /// The record that the rank ends with.
  void note_fault();
  /// One step, launched as the case says. False as enqueue_step().
  bool run_step(int step);
  /// False when this rank goes no further: it ends here by design, or the case was called off.
  bool enqueue_step(int step);
  void enqueue_delay(int step, phase which);
  void enqueue_start(int step, phase which);
  /// Whether this rank takes part in the step; sets the step's mask where it is another than that of the step before.
  bool set_mask(int step);
  void note_transport(transport taken);
  /// Appends a task; an exception in it becomes the rank's error.
  void enqueue(std::function<void()> task);

  /// The fault of the case, where this rank has it in this phase.
  [[nodiscard]] const injected_fault* injected_at(int step, phase which) const;
  /// Whether this rank ends there, or leaves the phase out.
  [[nodiscard]] bool ends_at(int step, phase which) const;
  [[nodiscard]] bool skips(int step, phase which) const;
  /// What this rank does on its way out.
  void end_as_injected(const injected_fault& fault);
  /// Null where the built-in one does.
  [[nodiscard]] std::shared_ptr<fabric> erring_fabric(fabric_kind kind);
  /// Makes a call to the library that is to enqueue a phase, or to leave it out.
  void call_phase(int step, phase which, const std::function<void()>& call);
  /// How late this rank is, by the fault of the case or by its lateness.
  [[nodiscard]] std::chrono::microseconds delay_before(int step, phase which) const;

  /// What dispatch is given: the inputs where the library sees them, as this rank declares them.
  [[nodiscard]] dispatch_inputs arguments(const step_inputs& inputs);
  /// The rest of it: T and the statistics, of which the CPU has `statistics`.
  [[nodiscard]] dispatch_options options_for(const declared_step& declared, const fenced_buffer& statistics);
  /// Of readable_views_, which the device has at `views`.
  void check_received(const step_inputs& inputs, const dispatch_result& views);
  void end_of_dispatch(const step_inputs& inputs, const dispatch_result& views);
  /// `rows` is where combine expects them, `views` what dispatch left as the CPU can read it.
  void compute_experts(const step_inputs& inputs, const dispatch_result& views, std::byte* rows);
  void poison_views(const step_inputs& inputs, const dispatch_result& views);
  void end_of_combine(const step_inputs& inputs);
  void poison_output(const step_inputs& inputs);
  void check_fences(const step_inputs& inputs);
  void fill_guards();
  void check_guards();
  /// What the last step left in the region of that name.
  void read_arrivals();
  [[nodiscard]] std::int64_t nanoseconds_since_start() const;
  [[nodiscard]] std::size_t bytes_to_end_of_region(const std::byte* data) const;

  /// What is fixed when a step is captured.
  struct replay_shape {
    std::int64_t tokens_per_rank = 1;  ///< T
    std::int64_t num_tokens = 0;
    bool topk_weights = false;
    bool extra = false;
    std::int64_t eplb_stats_length = 0;
    std::int64_t combine_hidden_size = 0;
    int layer = 0;
    std::optional<dispatch_format> format;
    combine_source source = combine_source::workspace_rows;
    bool two_graphs = false;
    std::optional<int> erring_step;  ///< this rank errs in that step
    friend auto operator<=>(const replay_shape&, const replay_shape&) = default;
  };
  struct captured_step {
    std::vector<std::size_t> graphs;
    dispatch_result views;
    std::pair<std::byte*, std::size_t> expert_rows;
  };
  /// Nothing where the step is launched eagerly.
  [[nodiscard]] std::optional<replay_shape> replay_shape_of(int step) const;
  void capture_steps();
  captured_step capture(int step, const replay_shape& shape);
  void poison_all(const captured_step& step, combine_source source);
  void end_of_replay(const step_inputs& inputs, const dispatch_result& views);

  /// Bytes, where the library sees them, that hold data and get poison back before they are used again.
  struct poisoned_area {
    std::vector<std::pair<std::byte*, std::size_t>> used;
    bool prepared = false;
  };

  poisoned_area& expert_area(combine_source source) {
    return source == combine_source::workspace_rows ? here_.expert_rows : private_expert_rows_;
  }

  /// A workspace, who uses it, and what in it is poison.
  struct rank_workspace {
    std::unique_ptr<one_sided_all_to_all> exchange;  ///< the first of the layers
    std::vector<std::unique_ptr<one_sided_all_to_all>> further_layers;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::vector<workspace_region> regions;
    workspace_guards guards;
    std::optional<rank_set> mask;  ///< that this rank set last
    std::array<bool, all_payloads.size()> view_prepared{};
    poisoned_area expert_rows;
  };

  /// What a rank sees of a machine on which nothing of its own runs.
  struct held_resources {
    std::size_t descriptors = 0;             ///< of the process; rank 0 counts them
    std::optional<std::size_t> free_memory;  ///< of the device
  };

  case_state& state_;
  const case_spec& spec_;
  int rank_;
  rank_outcome& outcome_;
  rank_verifier verifier_;
  std::unique_ptr<rank_device> device_;
  rank_workspace here_;              ///< in which the step at hand runs
  rank_workspace layers_workspace_;  ///< while a step runs beside it; else empty
  held_resources held_at_first_;
  int times_beside_ = 0;
  std::shared_ptr<injection::launch_switch> launches_;  ///< of a rank that leaves a phase out; else null
  bool exited_ = false;                                 ///< the exchange has been destroyed on purpose
  std::array<bool, 2> taken_{};                         ///< transports, by steps so far

  // Touched by tasks of the stream only, which follow one another.
  bool faulted_ = false;
  dispatch_result readable_views_;
  std::chrono::steady_clock::time_point phase_start_;
  poisoned_area private_expert_rows_;

  std::map<replay_shape, captured_step> captured_;
};

/// A phase that this rank itself aborted may have ended well before; the contract of faults does not speak of it.
inline bool phase_itself_faulted(const fault_record& record) {
  return record.code != fault_code::aborted || record.from_notice != 0;
}

}  // namespace switchyard::harness
