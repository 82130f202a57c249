// SPDX-License-Identifier: Apache-2.0
#include "bench_check.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "expert_pattern.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/reference/low_precision_combine.hpp"

namespace switchyard::harness {
namespace {

constexpr std::int64_t checked_tokens = 256;

void copy_back(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  to.resize(bytes);
  check_cuda(cudaMemcpy(to.data(), from, bytes, cudaMemcpyDeviceToHost), "reading a result back");
}

[[noreturn]] void refuse_row(const std::string& what, int rank, std::int64_t token, const std::vector<std::byte>& is,
                             const std::byte* should_be) {
  const auto differing = std::mismatch(is.begin(), is.end(), should_be);
  throw wrong_result("rank " + std::to_string(rank) + ": " + what + " of token " + std::to_string(token) + " byte " +
                     std::to_string(differing.first - is.begin()) + " is " +
                     std::to_string(std::to_integer<int>(*differing.first)) + ", must be " +
                     std::to_string(std::to_integer<int>(*differing.second)));
}

reference::step_shape shape_of(const bench_options& options, std::int64_t tokens, row_order order) {
  const auto rows = order == row_order::positional ? reference::row_order::positional : reference::row_order::packed;
  return {options.ranks, options.params, tokens, rows};
}

}  // namespace

bench_check::bench_check(const bench_options& options, const bench_inputs& inputs, std::int64_t tokens)
    : options_(options),
      inputs_(inputs),
      tokens_(tokens),
      stride_(std::max<std::int64_t>(1, tokens / checked_tokens)),
      routing_(inputs.routing(tokens)) {}

void bench_check::compare_views(const timed_rank& on, const dispatch_result& views) {
  on.make_current();
  const auto& golden = golden_[static_cast<std::size_t>(on.rank)];
  std::vector<std::byte> is;
  copy_back(is, views.recv_counts.data(), golden.recv_counts.size() * sizeof(std::int32_t));
  if (std::memcmp(is.data(), golden.recv_counts.data(), is.size()) != 0) {
    throw wrong_result("rank " + std::to_string(on.rank) + ": recv_counts of " + std::to_string(tokens_) +
                       " tokens are not the golden model's");
  }
  const auto id_bytes = inputs_.row_bytes(payload_kind::topk_ids);
  std::vector<std::byte> ids;
  copy_back(ids, views.topk_ids.data, golden.source_tokens.size() * id_bytes);
  const std::vector<std::int32_t> padding(id_bytes / sizeof(std::int32_t), options_.params.invalid_expert_id);
  for (std::size_t row = 0; row < golden.source_tokens.size(); ++row) {
    const auto token = golden.source_tokens[row];
    const auto source = static_cast<int>(row / static_cast<std::size_t>(tokens_));
    const auto* should_be = token < 0 ? reinterpret_cast<const std::byte*>(padding.data())
                                      : inputs_.row(payload_kind::topk_ids, source, token);
    is.assign(ids.data() + row * id_bytes, ids.data() + (row + 1) * id_bytes);
    if (std::memcmp(is.data(), should_be, id_bytes) != 0) refuse_row("topk_ids", on.rank, token, is, should_be);
    if (token < 0 || !is_sampled(token)) continue;
    for (const auto kind :
         {payload_kind::hidden_states, payload_kind::hidden_states_scale, payload_kind::topk_weights}) {
      const auto bytes = inputs_.row_bytes(kind);
      if (bytes == 0) continue;
      const auto& view = view_of(views, kind);
      if (view.row_bytes != bytes) {
        throw wrong_result("rank " + std::to_string(on.rank) + ": rows of " + std::string(to_string(kind)) + " have " +
                           std::to_string(view.row_bytes) + " bytes, must have " + std::to_string(bytes));
      }
      copy_back(is, view.data + row * bytes, bytes);
      should_be = inputs_.row(kind, source, token);
      if (std::memcmp(is.data(), should_be, bytes) != 0) {
        refuse_row(std::string(to_string(kind)), on.rank, token, is, should_be);
      }
      ++rows_;
    }
  }
}

void bench_check::compare_outputs(bench_group& group) {
  const auto elements = static_cast<std::size_t>(options_.params.hidden_size);
  const auto top_k = static_cast<std::size_t>(options_.params.top_k);
  std::vector<std::byte> is;
  std::vector<std::byte> should_be(elements * sizeof(std::uint16_t));
  for (const auto& one : group.ranks()) {
    one.make_current();
    const auto first_row = static_cast<std::int64_t>(one.rank) * tokens_;  // of this source, at every owner
    for (std::int64_t token = 0; token < tokens_; ++token) {
      if (!is_sampled(token)) continue;
      const std::span<const std::int32_t> ids = routing_[static_cast<std::size_t>(one.rank)].topk_ids;
      const auto owners = reference::owners_in_slot_order(ids.subspan(static_cast<std::size_t>(token) * top_k, top_k),
                                                          options_.params.num_experts, options_.ranks);
      std::vector<std::vector<std::uint16_t>> made;
      std::vector<const std::byte*> rows;
      for (const int owner : owners) {
        const auto& tokens_there = golden_[static_cast<std::size_t>(owner)].source_tokens;
        const auto begin = tokens_there.begin() + first_row;
        const auto row = std::find(begin, begin + tokens_, token) - tokens_there.begin();
        auto& values = made.emplace_back(elements);
        for (std::size_t e = 0; e < elements; ++e) {
          values[e] = expert_element(static_cast<std::uint32_t>(owner), static_cast<std::uint32_t>(row),
                                     static_cast<std::uint32_t>(e));
        }
      }
      for (const auto& values : made) rows.push_back(reinterpret_cast<const std::byte*>(values.data()));
      reference::combine_token_in(options_.low_precision_combine, rows, owners, elements, options_.params.dtype,
                                  reference::sum_order::slot_order, should_be.data());
      copy_back(is, bytes_of(group.of(one).output) + static_cast<std::size_t>(token) * should_be.size(),
                should_be.size());
      if (is != should_be) refuse_row("output", one.rank, token, is, should_be.data());
      ++rows_;
    }
  }
}

void bench_check::spoil_outputs(bench_group& group) const {
  const auto bytes = static_cast<std::size_t>(tokens_ * options_.params.hidden_size) * sizeof(std::uint16_t);
  for (auto& one : group.ranks()) {
    one.make_current();
    check_cuda(cudaMemsetAsync(group.of(one).output.get(), 0xCD, bytes, one.stream.get()), "spoiling outputs");
  }
  group.synchronize();
}

void bench_check::run_step(bench_group& group) {
  spoil_outputs(group);
  std::vector<dispatch_result> views;
  for (auto& one : group.ranks()) {
    one.make_current();
    views.push_back(group.dispatch(one, tokens_, group.fixed_buffers(one)));
  }
  group.synchronize();
  taken_ = views.front().transport;
  taken_because_ = views.front().transport_reason;
  golden_ = reference::dispatch(shape_of(options_, tokens_, views.front().order), routing_);
  for (auto& one : group.ranks()) {
    compare_views(one, views[static_cast<std::size_t>(one.rank)]);
    auto* rows = group.instance(one).combine_input_buffer(options_.params.dtype).data;
    launch_expert_rows(rows, static_cast<std::uint32_t>(one.rank), static_cast<std::uint64_t>(options_.ranks * tokens_),
                       static_cast<std::uint64_t>(options_.params.hidden_size), one.stream.get());
  }
  for (auto& one : group.ranks()) {
    one.make_current();
    group.combine(one, tokens_, group.fixed_buffers(one));
  }
  group.synchronize();
  compare_outputs(group);
}

std::string bench_check::describe() const {
  const auto which =
      stride_ == 1 ? std::string("every token") : "every " + std::to_string(stride_) + ". token and the last";
  return "counts and ids of all rows; hidden states, their scales, weights and outputs of " + which;
}

}  // namespace switchyard::harness
