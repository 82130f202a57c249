// SPDX-License-Identifier: Apache-2.0
#include "injection/faulty_fabric.hpp"

#include <utility>

#include "fabric/cuda/cuda_fabric.hpp"
#include "fabric/host/host_fabric.hpp"
#include "injection/forwarding_workspace.hpp"
#include "injection/injecting_block.hpp"
#include "protocol/transports.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::injection {
namespace {

using protocol::header_word;

/// Forwards what it is not told to leave out.
class faulty_workspace final : public forwarding_workspace {
 public:
  faulty_workspace(std::unique_ptr<fabric_workspace> right, std::shared_ptr<const launch_switch> launches)
      : forwarding_workspace(std::move(right)), launches_(std::move(launches)) {}

  void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) override {
    if (!launches_->leaves_out()) right().launch(params, plan, stream);
  }
  void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) override {
    if (!launches_->leaves_out()) right().launch(params, plan, stream);
  }
  void set_active_ranks(const rank_set& mask, stream_ref stream) override {
    right().set_active_ranks(launches_->spoiled(mask), stream);
  }

 private:
  std::shared_ptr<const launch_switch> launches_;
};

class faulty_fabric final : public fabric {
 public:
  faulty_fabric(std::shared_ptr<fabric> right, std::shared_ptr<const launch_switch> launches)
      : right_(std::move(right)), launches_(std::move(launches)) {}

  [[nodiscard]] support available(int device) const override { return right_->available(device); }
  [[nodiscard]] fabric_kind stream_kind() const override { return right_->stream_kind(); }
  std::unique_ptr<fabric_workspace> open(const workspace_request& request) override {
    return std::make_unique<faulty_workspace>(right_->open(request), launches_);
  }

 private:
  std::shared_ptr<fabric> right_;
  std::shared_ptr<const launch_switch> launches_;
};

/// Where the word that a field of a record speaks of stands in a header.
std::uint64_t word_of(step_field field) {
  if (field == step_field::row_count) return static_cast<std::uint64_t>(header_word::row_count);
  if (field == step_field::routed_bitmap) return protocol::bitmap_word;
  if (field == step_field::eplb_stats_length) return static_cast<std::uint64_t>(header_word::eplb_stats_length);
  if (field == step_field::instance) return static_cast<std::uint64_t>(header_word::instance);
  for (const auto& entry : protocol::must_match_words()) {
    if (entry.field == field) return static_cast<std::uint64_t>(entry.word);
  }
  return static_cast<std::uint64_t>(header_word::digest);
}

/// Changes the posts of the launch's own header words and nothing else.
mutation to_headers(const protocol::workspace_handle& ws, std::uint64_t step, phase which, effect what,
                    std::uint64_t amount, std::optional<std::uint64_t> word) {
  mutation change{.op = operation::post, .what = what, .amount = amount, .region = layout::region::headers};
  if (word) {
    change.to_peers = true;
    const auto header = ws.layout.header_offset(which, step & 1U, static_cast<std::uint64_t>(ws.rank));
    change.offset = header - ws.layout.offset_of(layout::region::headers) + *word * sizeof(std::uint64_t);
  }
  return change;
}

/// The step of a block's launch, as it begins: the first block of a Lamport phase moves the round on when it leaves,
/// which may be before the last one has begun.
std::uint64_t step_of(const host::host_block& block, const protocol::workspace_handle& ws) {
  const auto index = block.block_index();
  const bool has_own = ws.layout.dims.lamport_tokens != 0 && index < layout::max_lamport_blocks;
  return has_own ? ws.block_state(index).step_index : ws.round().step_index;
}

/// Once: a workspace that has recovered counts its steps anew.
bool is_due(const wrong_header& wrong, phase which, const host::host_block& block,
            const protocol::workspace_handle& ws) {
  return wrong.phase == which && step_of(block, ws) == wrong.step && ws.round().incarnation == 1;
}

/// Runs `phase_body` with a block that sends the header wrongly.
template <class Body>
void run_wrongly(host::host_block& block, const protocol::workspace_handle& ws, const wrong_header& wrong, Body body) {
  using once = injecting_block<host::host_block>;
  if (wrong.change == header_change::other_slot) {
    // A slot that nobody looks at for its own sake: combine's is of two steps ago, dispatch's of the step before.
    const auto parity = step_of(block, ws) & 1U;
    const auto to = wrong.phase == phase::dispatch ? ws.layout.header_offset(phase::combine, parity, 0)
                                                   : ws.layout.header_offset(phase::dispatch, 1 - parity, 0);
    const auto distance = to - ws.layout.header_offset(wrong.phase, parity, 0);
    injector plan(to_headers(ws, step_of(block, ws), wrong.phase, effect::next_slot, distance, std::nullopt));
    once misdirecting(block, plan, ws);
    return body(misdirecting);
  }
  const auto word = word_of(wrong.field);
  const auto digest = static_cast<std::uint64_t>(header_word::digest);
  const bool must_match = word != digest && word != word_of(step_field::row_count) && word < protocol::bitmap_word;
  injector of_word(to_headers(ws, step_of(block, ws), wrong.phase, effect::corrupt, wrong_bits, word));
  once inner(block, of_word, ws);
  if (!must_match) return body(inner);
  injector of_digest(to_headers(ws, step_of(block, ws), wrong.phase, effect::corrupt, wrong_bits, digest));
  injecting_block<once> outer(inner, of_digest, ws);
  body(outer);
}

std::shared_ptr<fabric> fabric_with(const wrong_header& wrong) {
  const auto right = host::production_kernels();
  return host::make_host_fabric(
      {[wrong, right](host::host_block& block, const protocol::dispatch_params& params) {
         if (!is_due(wrong, phase::dispatch, block, params.ws)) return right.dispatch(block, params);
         run_wrongly(block, params.ws, wrong, [&](auto& erring) { protocol::run_dispatch(erring, params); });
       },
       [wrong, right](host::host_block& block, const protocol::combine_params& params) {
         if (!is_due(wrong, phase::combine, block, params.ws)) return right.combine(block, params);
         run_wrongly(block, params.ws, wrong, [&](auto& erring) { protocol::run_combine(erring, params); });
       }});
}

}  // namespace

std::shared_ptr<fabric> make_faulty_fabric(fabric_kind kind, std::shared_ptr<const launch_switch> launches,
                                           const std::optional<wrong_header>& header) {
  if (header && kind != fabric_kind::host) throw unsupported("header: can be changed on the host fabric only");
  auto right = header                      ? fabric_with(*header)
               : kind == fabric_kind::cuda ? cuda::make_cuda_fabric()
                                           : host::make_host_fabric();
  return std::make_shared<faulty_fabric>(std::move(right), std::move(launches));
}

}  // namespace switchyard::injection
