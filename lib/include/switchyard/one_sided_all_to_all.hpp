// SPDX-License-Identifier: Apache-2.0
// Rank-major MoE dispatch and combine with one-sided writes. Behaviour after FlashInfer's
// moe_ep.NVLinkOneSidedAlltoAll; where that is undefined, as defined here.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "switchyard/config.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/spec/errors.hpp"
#include "switchyard/support.hpp"

namespace switchyard {

/// One rank's end of an EP group's exchange.
///
/// A step is one dispatch and then exactly one combine; all ranks issue the same sequence of steps. Calls enqueue on
/// the given stream and never synchronise it. One stream at a time; not thread-safe, but instances are independent of
/// one another. Within one process each rank needs its own stream.
///
/// Instances that are made by backends of one group (comm_backend::group_id) share a workspace when its layout, its
/// timeouts and where it lies are equal: layers of one shape cost its memory once, whatever T and, within the widths,
/// formats their steps have. One of them is within a step at a time; another's dispatch is a state_error meanwhile, and
/// all ranks run them in one order: another instance at a peer is a step_mismatch of the field `instance`. They use one
/// stream, or the caller orders their streams; recover() and checkpoints wait for the one of the last call of them all,
/// which must exist for as long as the instance that made it. A fault, a rank mask, recover() and checkpoints are the
/// workspace's, so of all of them. Different threads may use different ones: a call waits while another one's is
/// enqueueing, and is a state_error while recover() or a checkpoint is under way. Those of another shape have a
/// workspace of their own beside it; a workspace never grows.
///
/// When a phase fails (a peer that does not come, or one that declares another step), the workspace is poisoned: the
/// dispatch's ids are all invalid and its counts 0, the combine's output is NaN, later work on the stream does nothing
/// at the peers, status() tells the record, and the next call throws peer_fault. The process and its threads live on.
class one_sided_all_to_all {
 public:
  /// Local: whether the fabric `kind` can be used with `device`.
  static support platform_support(fabric_kind kind, int device);

  /// Collective over the group. Every rank succeeds, or every rank throws: invalid_argument when a rank's own or a
  /// peer's arguments break a rule or differ between ranks, or ranks have made different numbers of instances on the
  /// workspace that it would share; state_error where that is poisoned or without memory; unsupported, out_of_memory,
  /// peer_fault when ranks do not come within the warm-up timeout. The message names ranks and reasons.
  one_sided_all_to_all(const bootstrap& boot, const comm_params& params, const one_sided_config& config = {});

  /// Local; waits for nothing but this rank's own queued work. Never throws.
  ~one_sided_all_to_all();
  one_sided_all_to_all(const one_sided_all_to_all&) = delete;
  one_sided_all_to_all& operator=(const one_sided_all_to_all&) = delete;

  /// Sends each token once to every distinct rank that owns one of its experts, with its whole top-k row, and receives
  /// the peers' tokens. Shapes and alignment: payloads.hpp. Input memory must stay unchanged until the phase ends on
  /// `stream`. Rows arrive bit for bit, in the row order of the result, which follows from its transport: a row that
  /// holds no token is told by its ids, whatever the order. The transport follows from the config, T and the payloads'
  /// widths alone. An id outside [0, num_experts) sends nothing. Gathers eplb_local_stats of all ranks, too.
  /// Collective in stream order. Throws invalid_argument or state_error before anything is enqueued (peers then wait
  /// for this rank until abort() or their deadline), peer_fault when the workspace is poisoned.
  dispatch_result dispatch(const dispatch_inputs& inputs, const dispatch_options& options, stream_ref stream);

  /// [ep_size * T, hidden_size] rows of `type` in the workspace, T that of the step in flight; for a combine of a
  /// smaller h, rows lie h elements apart from the same address. Writing them on the step's stream between dispatch and
  /// combine and passing them to combine avoids a copy. Local. Throws invalid_argument when the rows do not fit,
  /// state_error when no step is in flight.
  rows_view combine_input_buffer(dtype type);

  /// Returns to each token the unweighted sum of the rows that its distinct ranks computed for it: fp32 accumulation in
  /// top-k slot order (first slot of each rank) starting from the first row, one rounding to nearest even, NaN results
  /// canonical, exactly +0 for a token with no valid expert. A token with one source comes back bit for bit. Under
  /// low_precision_combine every row, this rank's own included, counts in the sum by what spec/low_precision.hpp says
  /// of its elements, so a token with one source comes back as that, rounded; rows of any h have it, the last block of
  /// 128 may be shorter.
  /// expert_output must stay unchanged until the phase ends on `stream`; only rows that hold tokens are read. output
  /// overlaps neither expert_output nor the workspace.
  /// Collective in stream order. Throws as dispatch.
  void combine(const combine_inputs& inputs, const combine_output& output, stream_ref stream);

  /// Enqueues a change of the ranks that take part: every dispatch behind it on the stream is of `mask` alone, in
  /// replays of a graph too, and so is its combine. Tokens for a rank that is masked off are dropped and counted in
  /// dropped_routes, nothing is sent to it or awaited from it, its slice of the views is padding, its count 0. All
  /// ranks that take part must set the same mask before the same step: another one is the fault mask_changed. A mask
  /// only ever loses ranks; they come back through recover(), which makes it whole. What a rank that is masked off
  /// tells of its faults, or by abort(), ends nobody's phases any more. It should have no work in flight: what waits
  /// there is not told of the others' faults either. Local, in stream order. Throws unsupported unless
  /// enable_rank_mask, invalid_argument for a mask without this rank or with bits past ep_size, peer_fault when the
  /// workspace is poisoned. What reaches a dispatch otherwise than by this call, and a rank that comes back by it, is
  /// the fault bad_mask.
  void set_active_ranks(const rank_set& mask, stream_ref stream);

  /// The mask of these ranks of the group, in any order. Local. Throws invalid_argument for one outside [0, ep_size).
  [[nodiscard]] rank_set active_rank_mask(std::span<const int> ranks) const;

  /// The first fault of the workspace, or nothing, with when this rank had first seen each peer's header in the phase
  /// that failed: not_arrived for one that it had not. Local, never blocks, from any thread.
  [[nodiscard]] std::optional<recorded_fault> status() const;

  /// Poisons this rank's workspace, records `aborted`, and tells all peers, which leave their waits at once. Local,
  /// never blocks, from any thread. `reason` is kept for this rank's messages. A workspace with a fault keeps the
  /// fault.
  void abort(std::string_view reason);

  /// Brings the group back after a fault, or before one, without the ranks that are not in `active_ranks`: ends what
  /// runs on the workspace (peers that wait leave), waits for every active rank to have done so, and makes the
  /// workspace as new, on GPUs in new memory at the same addresses. The step in flight is over; every later one is
  /// exact, the first with the warm-up deadline, and so are replays of graphs that were captured before. Views and
  /// addresses stay what they were.
  ///
  /// Active ranks take part again, also those that were masked off. All others are masked off, which needs
  /// enable_rank_mask, and come back by a later recover() that names them. What they still run, be it a kernel that
  /// never ends, touches nothing that is new; on the host fabric they find themselves aborted.
  ///
  /// Collective over the active ranks, which all name the same. `backend` is this rank's of the whole group, which
  /// serves again where a rank did not come, or one of the active ranks alone, in their order. Never from a task on the
  /// rank's own stream. Bounded by the warm-up timeout, on GPUs but for what the driver takes. An abort() that comes
  /// meanwhile may be of the life that ends.
  ///
  /// Waits for this rank's queued work and for the peers: for all that the stream of the last call has been given,
  /// which must still exist. On GPUs whatever else uses the workspace, as replays of graphs on another stream, must
  /// have ended: abort() first, which ends them, then wait for their streams. The memory of both workspaces, old and
  /// new, is taken there for a moment. Where several instances work on one stream, abort() all of them before the first
  /// recovers: it waits for what the others have there.
  ///
  /// A poisoned workspace lets replays of graphs do nothing, with one exception: on GPUs an attempt that has failed
  /// while memory was being exchanged, with a cuda_error that names this rank, may have left its slice without memory,
  /// or with memory that nothing was filled into. A kernel that is replayed there ends the device's context, with all
  /// that the process has on it (cudaErrorIllegalAddress, from then on of every call), and no recover() brings that
  /// back. So after a cuda_error of recover() replay nothing on this rank until a later recover() has succeeded; then
  /// graphs are exact again. All calls of this class are safe meanwhile: dispatch, combine and set_active_ranks throw
  /// peer_fault and enqueue nothing, the others touch no memory of the slice. Other ranks may replay: nothing looks at
  /// that slice.
  ///
  /// Throws before anything is done: invalid_argument for ranks that there are not, without this one, or another rank's
  /// backend; unsupported for a rank that is left out without enable_rank_mask; state_error after destroy(). Throws on
  /// every active rank, whose workspaces are then poisoned as before, so that another attempt may follow:
  /// invalid_argument when they do not agree on who is active (by a backend of the active ranks alone; by one of the
  /// whole group those who do not agree do not meet, which is a peer_fault by the deadline); peer_fault naming the
  /// ranks that did not come, whose launches did not end, that cannot be aborted or read (a lost device), or, on the
  /// host fabric, that are left out and do not leave their launch, with those ranks as its record's `missing`;
  /// unsupported when the backend has no part_of() that it needs; out_of_memory or cuda_error. What fails behind the
  /// last meeting, when every rank has made its workspace anew, is one rank's alone: it throws cuda_error or
  /// peer_fault, stays poisoned, and the others, which have recovered, miss it in their next step.
  void recover(comm_backend& backend, const rank_set& active_ranks);

  /// Gives the workspace's memory back, on GPUs with every handle and descriptor, so that the process can be
  /// checkpointed: also its mappings of the peers' memory, which is what keeps that alive. The addresses stay reserved
  /// and are the same after checkpoint_restore(), which the caller needs for views and captured graphs; what lay there
  /// is lost, and nothing may touch it meanwhile: a replay would end the context. On the host fabric the pages go, but
  /// for those of bootstrap::host_memory. What is not memory of the workspace stays: a stream, an event, and a page of
  /// pinned host memory.
  ///
  /// Between steps only: no step in flight, neither of this instance nor of one that shares the workspace, no fault,
  /// and no replay. Waits for this rank's queued work as recover() does, and for all ranks of the group, masked off
  /// ones too, by the backend of construction or of the last restore, which it lets go of: connections may be closed
  /// then. All memory of all ranks has gone when it returns. Every call that would use it is a state_error from then
  /// on, abort() and recover() too, of every instance that shares the workspace; a further checkpoint_prepare() does
  /// nothing. Nobody constructs an instance that would share it. A group that has recovered without a rank cannot do
  /// this before a recover() has brought all of them back.
  ///
  /// Collective. Throws on all ranks when one cannot, and nothing has changed: peer_fault where this rank's workspace
  /// is poisoned, or naming ranks that did not come within the warm-up timeout; state_error naming ranks that are
  /// poisoned, within a step, capturing, or whose work did not end; state_error on this rank alone after destroy(), on
  /// a workspace that is lost, and where another thread is at it. When memory cannot be taken away after all,
  /// cuda_error on every rank that says so: the workspace is lost for good, and its instances can only be destroyed.
  void checkpoint_prepare();

  /// Gives the workspace memory again, at the same addresses; it is then as after recover(), of the ranks that were
  /// active before: exact from the next step on, which has the warm-up deadline, and so are replays of graphs that were
  /// captured before. `backend`: of the same rank and group size; it may be another one, of a new group_id, by which
  /// instances that are made later find the workspace. Does nothing where the workspace has its memory.
  ///
  /// Collective over all ranks. Throws invalid_argument for a backend of another rank or size, or null, before anything
  /// is done; state_error after destroy() and on a workspace that is lost; out_of_memory, cuda_error, unsupported or
  /// peer_fault on every rank, which then is prepared as before and may try again by another backend; cuda_error that
  /// says so where the workspace is lost for good, on this rank alone if its peers have restored: they miss it.
  void checkpoint_restore(std::shared_ptr<switchyard::comm_backend> backend);

  /// Frees this rank's end: what it has of the workspace when no other instance shares it. Idempotent. Waits for this
  /// rank's queued work on the workspace, also of instances that share it, which may itself wait for peers until its
  /// deadline (abort() first to cut that short), and for nothing else: what peers still write goes to memory that lives
  /// until the last rank has let go. An instance that goes within its step leaves the others to recover(). Not to be
  /// called from a task on the rank's own stream. Local; never throws.
  void destroy() noexcept;

  /// Whether steps of few tokens go by the transport `lamport`, with the reason why not. Local.
  [[nodiscard]] support lamport_enabled() const;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int ep_size() const noexcept;
  [[nodiscard]] const comm_params& params() const noexcept;

  /// This rank's workspace, for checkers that watch its guards: workspace_bytes() bytes laid out as
  /// workspace_regions() says. Null after destroy().
  [[nodiscard]] std::byte* workspace_data() const noexcept;

 private:
  class impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace switchyard
