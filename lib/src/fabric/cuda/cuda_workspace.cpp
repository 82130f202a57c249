// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/cuda_workspace.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/cuda/connect_slices.hpp"
#include "fabric/cuda/device_guard.hpp"
#include "fabric/cuda/kernels.hpp"
#include "fabric/cuda/launch_shape.hpp"
#include "fabric/cuda/pinned_pool.hpp"
#include "fabric/cuda/slice_layout.hpp"
#include "fabric/cuda/symmetric_memory.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

/// The library's own stream: set-up and abort. Its priority also gives it a hardware queue apart from the caller's
/// streams, so that abort() is not queued behind the kernel that it is to end.
class private_stream {
 public:
  private_stream() {
    int lowest = 0;
    int highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "stream priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest), "creating a stream");
  }
  ~private_stream() { (void)cudaStreamDestroy(stream_); }
  private_stream(const private_stream&) = delete;
  private_stream& operator=(const private_stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class private_event {
 public:
  private_event() {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync), "creating an event");
  }
  ~private_event() { (void)cudaEventDestroy(event_); }
  private_event(const private_event&) = delete;
  private_event& operator=(const private_event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class cuda_workspace final : public fabric_workspace, private recoverable {
 public:
  /// Precondition: the request's device is current; make_workspace sees to it.
  cuda_workspace(const driver_api& api, const kernel_set& kernels, const workspace_request& request)
      : api_(api),
        kernels_(kernels),
        request_(request),
        room_(prepare_kernels(kernels, request.layout.dims, most_scratch_bytes(request.layout.dims), stream_.get())),
        pinned_(take_pinned()),
        memory_(std::in_place, api, request.device, request.rank, request.ep_size, needed_slice_bytes(request.layout)) {
    if (room_.narrow == 0) {
      throw unsupported("device " + std::to_string(request.device) + " has too little shared memory for a block with " +
                        "its tables for " + std::to_string(request.ep_size) + " ranks");
    }
    handle_.layout = request.layout;
    handle_.rank = request.rank;
    handle_.ep_size = request.ep_size;
    handle_.self = memory_->slice(request.rank);
    handle_.num_near_peers = std::min(request.ep_size, static_cast<int>(handle_.near_peers.size()));
    for (int peer = 0; peer < handle_.num_near_peers; ++peer) {
      handle_.near_peers[static_cast<std::size_t>(peer)] = memory_->slice(peer);
    }
    handle_.peers = reinterpret_cast<std::byte* const*>(handle_.self + bases_offset(request.layout));
    void* on_device = nullptr;
    check(cudaHostGetDevicePointer(&on_device, &pinned_->mailbox, 0), "the device's address of the fault record");
    handle_.mailbox = static_cast<layout::fault_mailbox*>(on_device);
  }

  ~cuda_workspace() override {
    drain();
    try {
      const device_guard guard(request_.device);
      memory_.reset();
    } catch (const error&) {  // the device is gone, and its memory with it
    }
  }

  [[nodiscard]] std::byte* data() const noexcept override { return handle_.self; }

  void connect(comm_backend& backend, std::chrono::nanoseconds timeout) override {
    const device_guard guard(request_.device);
    const auto place = survey_group(backend, api_, {request_.device, request_.processes_may_share_gpu}, timeout);
    handles_ = place.handles;
    const auto initialise_slice = [&] {
      int multiprocessors = 0;
      check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, request_.device),
            "multiprocessors of the device");
      share_ = {multiprocessors - 1, room_, place.ranks_on_device};
      if (request_.enable_pdl == choice::on && !share_.alone()) {
        throw unsupported("enable_pdl is on, but " + std::to_string(place.ranks_on_device) + " ranks share device " +
                          std::to_string(request_.device));
      }
      if (share_.narrow_places() < 1) {
        throw unsupported("device " + std::to_string(request_.device) + " has " +
                          std::to_string(place.ranks_on_device) + " ranks, more than can be resident together");
      }
      initialise({{request_.first_epoch, 1}, layout::all_ranks(request_.ep_size)}, state_of_faults::none);
      check(cudaStreamSynchronize(stream_.get()), "workspace: filling in");
    };
    connect_slices(backend, api_, *memory_, place, initialise_slice, timeout);
  }

  [[nodiscard]] launch_plan plan(const planned_step& step, stream_ref) const override {
    if (step.transport == transport::lamport) {
      return plan_lamport(step.tokens_per_rank, request_.layout.dims, share_, step.max_blocks);
    }
    return plan_launches(step.tokens_per_rank, request_.layout.dims, share_, step.max_blocks);
  }

  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    enqueue(params, plan, stream);
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    const bool lamport = protocol::transport_of(params.words) == transport::lamport;
    const auto row_bytes = params.elements * itemsize(params.type);
    enqueue(params, lamport ? lamport_combine_of(plan, row_bytes, share_) : plan, stream);
  }

  void set_active_ranks(const rank_set& mask, stream_ref stream) override {
    const device_guard guard(request_.device);
    before_ = {.num_blocks = 1, .block_threads = 32};
    launch_set_mask({&handle_.rank_mask(), &handle_.notice()}, mask, layout::mask_word_of(mask, handle_.ep_size),
                    stream.cuda());
    mark_launch(stream);
  }

  [[nodiscard]] std::optional<recorded_fault> fault() const override {
    // Pairs with the release in cuda_block::record.
    const auto ranks = static_cast<std::size_t>(request_.ep_size);
    const auto recorded = std::atomic_ref(pinned_->mailbox.sequence).load(std::memory_order_acquire) != 0;
    if (recorded) return pinned_->mailbox.recorded(ranks);
    if (!aborted_.load(std::memory_order_acquire)) return std::nullopt;
    // The abort kernel is on its way. It may yet find that a block was faster; then that record stands in the mailbox.
    recorded_fault fault;
    fault.code = fault_code::aborted;
    fault.rank = request_.rank;
    fault.origin = request_.rank;
    fault.arrival_ns.fill(not_arrived);
    return fault;
  }

  void abort() override {
    const std::unique_lock lock(next_life_, std::try_to_lock);
    if (!lock) return;  // it is poisoned, and its addresses may have no memory just now
    if (stands_) {
      const device_guard guard(request_.device);
      launch_abort(handle_, stream_.get());
    }
    aborted_.store(true, std::memory_order_release);
  }

  /// Waits for launches that went onto a stream. Replays of captured graphs are the caller's to wait for: nobody tells
  /// the library of them.
  void drain() noexcept override {
    try {
      const device_guard guard(request_.device);
      (void)cudaEventSynchronize(last_launch_.get());
      (void)cudaStreamSynchronize(stream_.get());
    } catch (const error&) {  // a device that cannot be made current runs nothing of ours either
    }
  }

  void forget_stream() noexcept override {
    const std::lock_guard lock(stream_mutex_);
    last_stream_.reset();
  }

  [[nodiscard]] recoverable& recovery() override { return *this; }

 private:
  using clock = std::chrono::steady_clock;

  /// Waits for all that the stream of the last call has been given, not only by the library: experts read the views,
  /// and would find no memory there. Replays of graphs on another stream, which nobody tells the library of, are seen
  /// where they are in the middle of a phase.
  [[nodiscard]] bool drain_for(std::chrono::nanoseconds timeout) override {
    const device_guard guard(request_.device);
    const auto deadline = clock::now() + timeout;
    mark_end_of_stream();
    if (!wait_for([&] { return cudaEventQuery(last_launch_.get()); }, deadline, "the last launch")) return false;
    if (!stands_) return true;  // nothing there can be read; restart() has left where the next life begins
    do {
      if (!take_snapshot(deadline)) return false;
      if (layout::is_quiet(pinned_->snapshot)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (clock::now() < deadline);
    return false;
  }

  [[nodiscard]] round_position position() const override {
    return {pinned_->snapshot.round.epoch, pinned_->snapshot.round.incarnation};
  }

  [[nodiscard]] resting_state rest() const override {
    const auto& seen = pinned_->snapshot;
    return {position(), static_cast<phase>(seen.round.phase_due), seen.mask.due};
  }

  void release_memory() override {
    const std::lock_guard lock(next_life_);
    const device_guard guard(request_.device);
    stands_ = false;
    memory_->take_away();
  }

  // Who is left out has the memory that is replaced, and goes on in it as long as it likes.
  [[nodiscard]] rank_set keep_out(const rank_set& /*left_out*/, std::chrono::nanoseconds /*timeout*/) override {
    return {};
  }

  void restart(const fresh_start& start, const rank_meeting& meeting) override {
    const std::lock_guard lock(next_life_);
    const device_guard guard(request_.device);
    const auto settle = [&] {
      await_stream(clock::now() + meeting.remaining(), "workspace: an abort of another thread");
    };
    // Whoever has come this far may be in the new incarnation, also where this rank cannot say so of itself.
    pinned_->snapshot.round.epoch = start.at.epoch;
    pinned_->snapshot.round.incarnation = start.at.incarnation;
    try {
      remap_slices(meeting, api_, *memory_, request_.rank, handles_, settle, [&] {
        stands_ = false;
        initialise(start, state_of_faults::poisoned);
        await_stream(clock::now() + meeting.remaining(), "workspace: filling in");
        stands_ = true;
      });
    } catch (...) {
      if (!memory_->is_backed()) stands_ = false;
      throw;
    }
  }

  // The mailbox is the old one, whose address captured graphs have: all that wrote it are launches of this rank, which
  // have ended.
  void open_again(std::chrono::nanoseconds timeout) override {
    const std::lock_guard lock(next_life_);  // an abort() that finds it taken goes away, and waits for nothing
    const device_guard guard(request_.device);
    auto& round = handle_.round();
    std::atomic_ref(pinned_->mailbox.sequence).store(0, std::memory_order_release);
    // The election is the last to be open: from then on there may be another fault.
    for (auto* word : {&round.fault_announced, &round.poison, &round.fault_elected}) {
      check(cudaMemsetAsync(word, 0, sizeof(*word), stream_.get()), "workspace: ending the fault");
    }
    await_stream(clock::now() + timeout, "workspace: ending the fault");
    before_ = {.num_blocks = 0};
    aborted_.store(false, std::memory_order_release);
  }

  void mark_end_of_stream() {
    const std::lock_guard lock(stream_mutex_);
    if (!last_stream_) return;
    auto capturing = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(*last_stream_, &capturing), "whether the stream is being captured");
    if (capturing != cudaStreamCaptureStatusNone) throw state_error("the stream of the last call is being captured");
    check(cudaEventRecord(last_launch_.get(), *last_stream_), "marking the end of the stream");
  }

  /// Asks `query` again and again until it is no longer not ready, or the deadline has passed: then false.
  template <class Query>
  static bool wait_for(Query query, clock::time_point deadline, const char* what) {
    for (;;) {
      const auto answer = query();
      if (answer == cudaSuccess) return true;
      if (answer != cudaErrorNotReady) check(answer, what);
      (void)cudaGetLastError();  // not ready is no error of the caller's next call
      if (clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void await_stream(clock::time_point deadline, const char* what) const {
    if (wait_for([&] { return cudaStreamQuery(stream_.get()); }, deadline, what)) return;
    throw cuda_error(std::string(what) + ": the device has not come to it in time");
  }

  /// Copies what says where the rounds stand, behind abort() on the library's stream. Whether that was done in time.
  bool take_snapshot(clock::time_point deadline) {
    auto& into = pinned_->snapshot;
    const auto& layout = request_.layout;
    const auto copy = [&](void* to, layout::region from, std::size_t bytes) {
      check(cudaMemcpyAsync(to, handle_.self + layout.offset_of(from), bytes, cudaMemcpyDeviceToHost, stream_.get()),
            "workspace: reading where it stands");
    };
    copy(&into.round, layout::region::round_state, sizeof(into.round));
    copy(into.blocks.data(), layout::region::lamport_blocks, sizeof(into.blocks));
    copy(&into.mask, layout::region::rank_mask, sizeof(into.mask));
    return wait_for([&] { return cudaStreamQuery(stream_.get()); }, deadline, "workspace: reading where it stands");
  }

  enum class state_of_faults : std::uint8_t { none, poisoned };

  /// Enqueues what fills the slice in before any peer may use it: signals read 0, the round begins, the bases are
  /// known.
  void initialise(const fresh_start& start, state_of_faults faults) {
    const auto fill = [&](std::uint64_t offset, const void* from, std::size_t bytes) {
      // From memory that the call has read when it returns.
      check(cudaMemcpyAsync(handle_.self + offset, from, bytes, cudaMemcpyHostToDevice, stream_.get()),
            "workspace: filling in");
    };
    for (const auto& spec : layout::region_table) {
      if (!spec.zeroed) continue;
      check(cudaMemsetAsync(handle_.self + request_.layout.offset_of(spec.id), 0, request_.layout.size_of(spec.id),
                            stream_.get()),
            "workspace: zeroing");
    }
    layout::round_state round{};
    round.epoch = start.at.epoch;
    round.incarnation = start.at.incarnation;
    round.warm_phases_left = 2;
    round.timeout_ns = request_.timeout_ns;
    round.warmup_timeout_ns = request_.warmup_timeout_ns;
    if (faults == state_of_faults::poisoned) round.poison = round.fault_elected = round.fault_announced = 1;
    fill(request_.layout.offset_of(layout::region::round_state), &round, sizeof(round));
    const auto mask = layout::first_rank_mask(start.active, request_.ep_size);
    fill(request_.layout.offset_of(layout::region::rank_mask), &mask, sizeof(mask));
    const layout::notice_words notice{0, layout::heard_ranks(start.active, request_.layout.dims.rank_masks)};
    fill(request_.layout.offset_of(layout::region::notice), &notice, sizeof(notice));
    const std::vector<layout::block_state> blocks(layout::max_lamport_blocks, layout::first_block_state(round));
    fill(request_.layout.offset_of(layout::region::lamport_blocks), blocks.data(), blocks.size() * sizeof(blocks[0]));
    std::vector<std::byte*> bases;
    for (int rank = 0; rank < request_.ep_size; ++rank) bases.push_back(memory_->slice(rank));
    fill(bases_offset(request_.layout), bases.data(), bases.size() * sizeof(bases[0]));
  }

  template <class Params>
  void enqueue(Params params, const phase_plan& plan, stream_ref stream) {
    const device_guard guard(request_.device);
    params.ws = handle_;
    params.ws.num_blocks = static_cast<std::uint32_t>(plan.num_blocks);
    const bool overlaps = request_.enable_pdl != choice::off && may_overlap(plan, before_, share_);
    before_ = plan;
    launch_kernel(kernels_, params,
                  {params.ws.num_blocks, static_cast<std::uint32_t>(plan.block_threads), scratch_bytes(params),
                   stream.cuda(), overlaps});
    mark_launch(stream);
  }

  /// For drain().
  void mark_launch(stream_ref stream) {
    const std::lock_guard lock(stream_mutex_);
    last_stream_ = stream.cuda();
    auto capturing = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream.cuda(), &capturing), "whether the stream is being captured");
    // An event of a graph could not be waited for.
    if (capturing == cudaStreamCaptureStatusNone) {
      check(cudaEventRecord(last_launch_.get(), stream.cuda()), "marking the launch");
    }
  }

  const driver_api& api_;
  kernel_set kernels_;
  workspace_request request_;
  private_stream stream_;
  private_event last_launch_;
  std::mutex stream_mutex_;                  ///< of the next: an instance may go while another drains
  std::optional<cudaStream_t> last_stream_;  ///< of the caller's, where replays of what it captured there run, too
  kernel_room room_;
  device_share share_;
  passing handles_ = passing::as_it_is;
  phase_plan before_{.num_blocks = 0};  ///< the last launch's
  std::shared_ptr<pinned_part> pinned_;
  std::optional<symmetric_memory> memory_;  // until the destructor
  protocol::workspace_handle handle_;
  std::atomic<bool> aborted_{false};
  std::mutex next_life_;  ///< of a restart, of opening again and of abort()
  /// Whether the own slice has memory that holds a round state: not where a restart has failed between the two. Then
  /// nothing touches the slice until another one succeeds. Guarded by next_life_ against other threads.
  bool stands_ = true;
};

}  // namespace

std::unique_ptr<fabric_workspace> make_workspace(const driver_api& api, const kernel_set& kernels,
                                                 const workspace_request& request) {
  const device_guard guard(request.device);
  return std::make_unique<cuda_workspace>(api, kernels, request);
}

}  // namespace switchyard::cuda
