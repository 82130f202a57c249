// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/host_fabric.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "fabric/host/host_policy.hpp"
#include "fabric/host/neighbours.hpp"
#include "protocol/transports.hpp"

namespace switchyard::host {
namespace {

/// Launches of one workspace that have not ended. The last to end wakes whoever drains.
class launch_count {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }
  void wait_idle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
  }
  bool wait_idle_for(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, timeout, [this] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;
};

/// One launch: counted as running until its last block has ended, or until it is clear that it was never queued.
struct launch_state {
  launch_state(const std::shared_ptr<launch_count>& counted, int num_blocks, std::uint64_t words_per_block)
      : scratch(static_cast<std::size_t>(num_blocks) * words_per_block),
        words(words_per_block),
        blocks_left(num_blocks),
        running(counted.get(), [counted](launch_count* count) { count->end(); }) {
    counted->begin();
  }
  [[nodiscard]] std::uint32_t* scratch_of(int block) {
    return scratch.data() + static_cast<std::size_t>(block) * words;
  }

  std::vector<std::uint32_t> scratch;
  std::uint64_t words;
  std::atomic<int> blocks_left;
  std::shared_ptr<launch_count> running;
};

class host_workspace final : public fabric_workspace, private recoverable {
 public:
  host_workspace(const workspace_request& request, std::shared_ptr<const host_kernels> kernels)
      : kernels_(std::move(kernels)),
        part_(std::make_shared<shared_part>(request.layout.total_bytes, request.host_memory)) {
    handle_.layout = request.layout;
    handle_.rank = request.rank;
    handle_.ep_size = request.ep_size;
    handle_.self = part_->memory.data();
    handle_.mailbox = &part_->mailbox;
    timeout_ns_ = request.timeout_ns;
    warmup_timeout_ns_ = request.warmup_timeout_ns;
    first_epoch_ = request.first_epoch;
    begin(first_start());
  }

  ~host_workspace() override { drain(); }

  [[nodiscard]] std::byte* data() const noexcept override { return part_->memory.data(); }

  void connect(comm_backend& backend, std::chrono::nanoseconds timeout) override {
    neighbours_ = meet_neighbours(
        backend, {handle_, part_}, [this] { begin(first_start()); }, timeout);
    bases_ = neighbours_->bases();
    handle_.peers = bases_.data();
  }

  [[nodiscard]] launch_plan plan(const planned_step& step, stream_ref stream) const override {
    const auto workers = stream.host().num_workers();
    if (step.transport == transport::lamport) return plan_lamport(workers, step.max_blocks);
    return plan_launches(step.tokens_per_rank, handle_.layout.dims.max_chunks(), workers, step.max_blocks);
  }

  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    enqueue(params, plan, stream, &host_kernels::dispatch);
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    enqueue(params, plan, stream, &host_kernels::combine);
  }

  void set_active_ranks(const rank_set& mask, stream_ref stream) override {
    // Counted as a launch, so that drain() waits for it as well.
    auto run = std::make_shared<launch_state>(launches_, 1, 0);
    called_on(stream.host());
    stream.host().enqueue([mask, word = layout::mask_word_of(mask, handle_.ep_size), words = &handle_.rank_mask(),
                           notice = &handle_.notice(), run] {
      host_block::store_u32(&words->due_word, word);
      for (std::size_t i = 0; i < mask.size(); ++i) {
        host_block::store_u64(&words->due[i], mask[i]);
        host_block::store_u64(&notice->heard[i], mask[i]);
      }
      run->running.reset();
    });
  }

  [[nodiscard]] std::optional<recorded_fault> fault() const override {
    // Pairs with the release in host_block::record.
    if (std::atomic_ref(part_->mailbox.sequence).load(std::memory_order_acquire) == 0) return std::nullopt;
    return part_->mailbox.recorded(static_cast<std::size_t>(handle_.ep_size));
  }

  void abort() override {
    const std::lock_guard lock(part_->next_life);
    host_block block;
    const entry_count::visit visit(part_->inside);
    protocol::abort_workspace(block, handle_);
  }

  void drain() noexcept override { launches_->wait_idle(); }
  void forget_stream() noexcept override {
    const std::lock_guard lock(stream_mutex_);
    last_stream_ = nullptr;
  }

  [[nodiscard]] recoverable& recovery() override { return *this; }

 private:
  /// Waits for all that the stream of the last call has been given, not only by the library: experts read the views,
  /// and where a combine was refused no launch stands behind them.
  [[nodiscard]] bool drain_for(std::chrono::nanoseconds timeout) override {
    if (const std::lock_guard lock(stream_mutex_); last_stream_ != nullptr) {
      auto end = std::make_shared<launch_state>(launches_, 1, 0);
      last_stream_->enqueue([end] { end->running.reset(); });
    }
    return launches_->wait_idle_for(timeout);
  }
  [[nodiscard]] round_position position() const override {
    return {handle_.round().epoch, handle_.round().incarnation};
  }

  [[nodiscard]] resting_state rest() const override {
    return {position(), static_cast<phase>(handle_.round().phase_due), handle_.rank_mask().due};
  }
  void release_memory() override { neighbours_->release_memory(); }
  [[nodiscard]] rank_set keep_out(const rank_set& left_out, std::chrono::nanoseconds timeout) override {
    return neighbours_->keep_out(left_out, timeout);
  }

  void restart(const fresh_start& start, const rank_meeting& meeting) override {
    neighbours_->renew(meeting, [&] {
      begin(start);
      part_->kept_out_by = -1;
      handle_.round().fault_elected = handle_.round().fault_announced = handle_.round().poison = 1;
    });
  }

  void open_again(std::chrono::nanoseconds /*timeout*/) override {
    host_block block;
    auto& round = handle_.round();
    const std::lock_guard lock(part_->next_life);
    std::atomic_ref(part_->mailbox.sequence).store(0, std::memory_order_release);
    block.store_u32(&round.fault_announced, 0);
    block.store_u32(&round.fault_elected, 0);
    // Others may have opened long ago, and recovered once more without this rank.
    if (part_->kept_out_by >= 0) return poison(handle_, part_->kept_out_by);
    block.store_u32(&round.poison, 0);
  }

  void called_on(host_stream& stream) {
    const std::lock_guard lock(stream_mutex_);
    last_stream_ = &stream;
  }
  [[nodiscard]] fresh_start first_start() const { return {{first_epoch_, 1}, layout::all_ranks(handle_.ep_size)}; }

  void begin(const fresh_start& start) {
    // A resource may hand out memory of an earlier workspace, whose signals would look fresh.
    for (const auto& spec : layout::region_table) {
      if (spec.zeroed) std::memset(data() + handle_.layout.offset_of(spec.id), 0, handle_.layout.size_of(spec.id));
    }
    auto& round = handle_.round();
    round.epoch = start.at.epoch;
    round.incarnation = start.at.incarnation;
    round.warm_phases_left = 2;
    round.timeout_ns = timeout_ns_;
    round.warmup_timeout_ns = warmup_timeout_ns_;
    handle_.rank_mask() = layout::first_rank_mask(start.active, handle_.ep_size);
    handle_.notice().heard = layout::heard_ranks(start.active, handle_.layout.dims.rank_masks);
    std::fill_n(&handle_.block_state(0), layout::max_lamport_blocks, layout::first_block_state(round));
  }

  template <class Params, class Kernel>
  void enqueue(Params params, const phase_plan& plan, stream_ref stream, Kernel kernel) {
    params.ws = handle_;
    params.ws.num_blocks = static_cast<std::uint32_t>(plan.num_blocks);
    // Peers' memory is held by neighbours_, which outlive the launch because the destructor drains. Everything that a
    // block needs is allocated here, where a failure can still be thrown.
    auto run = std::make_shared<launch_state>(launches_, plan.num_blocks, scratch_words(params));
    called_on(stream.host());
    stream.host().launch(plan.num_blocks, [params, kernel, kernels = kernels_, run, part = part_](int index) {
      host_block block(run->scratch_of(index), static_cast<std::uint32_t>(index));
      {
        const entry_count::visit visit(part->inside);
        (kernels.get()->*kernel)(block, params);
      }
      if (run->blocks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) run->running.reset();
    });
  }

  std::shared_ptr<const host_kernels> kernels_;
  std::shared_ptr<shared_part> part_;
  std::uint64_t timeout_ns_ = 0;
  std::uint64_t warmup_timeout_ns_ = 0;
  std::uint32_t first_epoch_ = 1;
  std::unique_ptr<neighbours> neighbours_;  ///< hold the peers' memory; null until connect()
  std::vector<std::byte*> bases_;
  protocol::workspace_handle handle_;
  std::shared_ptr<launch_count> launches_ = std::make_shared<launch_count>();
  std::mutex stream_mutex_;             ///< of the next: an instance may go while another drains
  host_stream* last_stream_ = nullptr;  ///< of the last call
};

class host_fabric final : public fabric {
 public:
  explicit host_fabric(host_kernels kernels) : kernels_(std::make_shared<const host_kernels>(std::move(kernels))) {}

  [[nodiscard]] support available(int) const override { return {true, {}}; }
  [[nodiscard]] fabric_kind stream_kind() const override { return fabric_kind::host; }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::make_unique<host_workspace>(request, kernels_);
  }

 private:
  std::shared_ptr<const host_kernels> kernels_;
};

}  // namespace

host_kernels production_kernels() {
  return {[](host_block& block, const protocol::dispatch_params& params) { protocol::run_dispatch(block, params); },
          [](host_block& block, const protocol::combine_params& params) { protocol::run_combine(block, params); }};
}

std::shared_ptr<fabric> make_host_fabric(host_kernels kernels) {
  return std::make_shared<host_fabric>(std::move(kernels));
}

}  // namespace switchyard::host
