// SPDX-License-Identifier: Apache-2.0
#include "nccl_send_receive.hpp"

#include <cstring>

#include "../device_check.hpp"

namespace switchyard::harness {
namespace {

std::array<row_piece, all_payloads.size()> lay_out(const bench_inputs& inputs) {
  std::array<row_piece, all_payloads.size()> pieces{};
  std::uint32_t offset = 0;
  for (const auto kind : all_payloads) {
    auto& piece = pieces[static_cast<std::size_t>(kind)];
    piece.row_bytes = static_cast<std::uint32_t>(inputs.row_bytes(kind));
    piece.offset = offset;
    offset += (piece.row_bytes + 15) / 16 * 16;
  }
  return pieces;
}

std::size_t pitch_of(const std::array<row_piece, all_payloads.size()>& pieces) {
  return pieces.back().offset + (pieces.back().row_bytes + 15) / 16 * 16;
}

const std::int32_t* numbers(const device_bytes& memory) { return static_cast<const std::int32_t*>(memory.get()); }

}  // namespace

nccl_send_receive::nccl_send_receive(nccl_group& group, const bench_options& options, const bench_inputs& inputs,
                                     nccl_memory memory)
    : group_(group),
      options_(options),
      inputs_(inputs),
      pieces_(lay_out(inputs)),
      pitch_bytes_(pitch_of(pieces_)),
      hidden_bytes_(static_cast<std::size_t>(options.params.hidden_size) * itemsize(options.params.dtype)),
      packed_(group, memory, row_limit() * pitch_bytes_),
      received_(group, memory, row_limit() * pitch_bytes_),
      rows_(group, memory, row_limit() * hidden_bytes_),
      returned_(group, memory, row_limit() * hidden_bytes_) {
  for (auto& one : group.ranks()) {
    one.make_current();
    for (const auto kind : all_payloads) payloads_.push_back(upload(inputs.rows(kind, one.rank)));
    output_.push_back(take_device(static_cast<std::size_t>(options.params.max_tokens_per_rank) * hidden_bytes_));
  }
}

std::size_t nccl_send_receive::row_limit() const {
  return static_cast<std::size_t>(options_.params.max_tokens_per_rank) * static_cast<std::size_t>(group_.size());
}

void nccl_send_receive::prepare(std::int64_t tokens) {
  tokens_ = tokens;
  const reference::step_shape shape{group_.size(), options_.params, tokens};
  const auto routing = inputs_.routing(tokens);
  exact_ = exact_rows_of(shape, routing);
  tables_.clear();
  for (auto& one : group_.ranks()) {
    one.make_current();
    fill_tables(one);
  }
}

void nccl_send_receive::fill_tables(const timed_rank& one) {
  const auto& exact = exact_[static_cast<std::size_t>(one.rank)];
  auto& mine = tables_.emplace_back();
  mine.packed_token = upload(std::span<const std::int32_t>(exact.packed_token));
  mine.packed_place = upload(std::span<const std::int32_t>(exact.packed_place));
  mine.summed_place = upload(std::span<const std::int32_t>(exact.summed_place));
  mine.owner_mask = upload(std::span<const std::uint32_t>(exact.owner_mask));
  std::vector<std::byte> expected(exact.received_token.size() * pitch_bytes_);
  for (std::size_t row = 0; row < exact.received_token.size(); ++row) {
    const auto source = static_cast<int>(exact.received_token[row] / tokens_);
    const auto token = exact.received_token[row] % tokens_;
    for (const auto kind : all_payloads) {
      const auto& piece = pieces_[static_cast<std::size_t>(kind)];
      if (piece.row_bytes == 0) continue;
      std::memcpy(expected.data() + row * pitch_bytes_ + piece.offset, inputs_.row(kind, source, token),
                  piece.row_bytes);
    }
  }
  mine.expected = upload(std::span<const std::byte>(expected));
  const auto row_token = upload(std::span<const std::int32_t>(exact.received_token));
  exact_rows_parameters parameters;
  parameters.out = rows_.of(one);
  parameters.tokens = numbers(row_token);
  parameters.rows = static_cast<std::uint32_t>(exact.received_rows());
  parameters.elements = static_cast<std::uint32_t>(options_.params.hidden_size);
  parameters.rank = static_cast<std::uint32_t>(one.rank);
  parameters.type = options_.params.dtype;
  launch_exact_rows(parameters, one.stream.get());
  check_cuda(cudaStreamSynchronize(one.stream.get()), "rows of experts");
}

void nccl_send_receive::exchange(const timed_rank& one, const std::byte* from, const std::vector<std::int64_t>& sent,
                                 std::byte* into, const std::vector<std::int64_t>& received, std::size_t row_bytes) {
  const auto& api = group_.api();
  api.check(api.group_start(), "ncclGroupStart");
  for (int peer = 0; peer < group_.size(); ++peer) {
    const auto out = static_cast<std::size_t>(sent[static_cast<std::size_t>(peer)]) * row_bytes;
    const auto in = static_cast<std::size_t>(received[static_cast<std::size_t>(peer)]) * row_bytes;
    if (peer != one.rank && out != 0) {
      api.check(api.send(from, out, ncclInt8, peer, group_.comm(one), one.stream.get()), "ncclSend");
    }
    if (peer != one.rank && in != 0) {
      api.check(api.recv(into, in, ncclInt8, peer, group_.comm(one), one.stream.get()), "ncclRecv");
    }
    from += out;
    into += in;
  }
  api.check(api.group_end(), "ncclGroupEnd");
}

void nccl_send_receive::dispatch(const timed_rank& one) {
  const auto rank = static_cast<std::size_t>(one.rank);
  const auto& exact = exact_[rank];
  pack_parameters parameters;
  parameters.pieces = pieces_;
  for (std::size_t kind = 0; kind < pieces_.size(); ++kind) {
    parameters.pieces[kind].from = bytes_of(payloads_[rank * pieces_.size() + kind]);
  }
  parameters.pitch_bytes = static_cast<std::uint32_t>(pitch_bytes_);
  parameters.rows = static_cast<std::uint32_t>(exact.packed_token.size());
  parameters.tokens = numbers(tables_[rank].packed_token);
  parameters.places = numbers(tables_[rank].packed_place);
  parameters.remote = packed_.of(one);
  parameters.local = received_.of(one);
  launch_pack(parameters, one.stream.get());
  exchange(one, packed_.of(one), exact.sent, received_.of(one), exact.received, pitch_bytes_);
}

void nccl_send_receive::combine(const timed_rank& one) {
  const auto rank = static_cast<std::size_t>(one.rank);
  const auto& exact = exact_[rank];
  exchange(one, rows_.of(one), exact.received, returned_.of(one), exact.sent, hidden_bytes_);
  sum_parameters parameters;
  parameters.remote = returned_.of(one);
  parameters.local = rows_.of(one);
  parameters.places = numbers(tables_[rank].summed_place);
  parameters.out = bytes_of(output_[rank]);
  parameters.tokens = static_cast<std::uint32_t>(tokens_);
  parameters.ranks = static_cast<std::uint32_t>(group_.size());
  parameters.elements = static_cast<std::uint32_t>(options_.params.hidden_size);
  parameters.type = options_.params.dtype;
  launch_sum(parameters, one.stream.get());
}

void nccl_send_receive::spoil() {
  for (auto& one : group_.ranks()) {
    one.make_current();
    const auto rank = static_cast<std::size_t>(one.rank);
    const auto rows = static_cast<std::size_t>(exact_[rank].received_rows());
    const auto back = static_cast<std::size_t>(exact_[rank].sent_rows());
    const auto tokens = static_cast<std::size_t>(tokens_);
    check_cuda(cudaMemsetAsync(received_.of(one), 0xCD, rows * pitch_bytes_, one.stream.get()), "spoiling results");
    check_cuda(cudaMemsetAsync(returned_.of(one), 0xCD, back * hidden_bytes_, one.stream.get()), "spoiling results");
    check_cuda(cudaMemsetAsync(output_[rank].get(), 0xCD, tokens * hidden_bytes_, one.stream.get()),
               "spoiling results");
  }
  group_.synchronize();
}

std::string nccl_send_receive::check_dispatch() {
  return count_wrong(group_, "received words", [&](const timed_rank& one, unsigned long long* wrong) {
    const auto rank = static_cast<std::size_t>(one.rank);
    launch_comparison(received_.of(one), bytes_of(tables_[rank].expected),
                      static_cast<std::uint64_t>(exact_[rank].received_rows()) * pitch_bytes_, wrong, one.stream.get());
  });
}

std::string nccl_send_receive::check_combine() {
  return count_wrong(group_, "sums", [&](const timed_rank& one, unsigned long long* wrong) {
    const auto rank = static_cast<std::size_t>(one.rank);
    sum_check_parameters parameters;
    parameters.is = bytes_of(output_[rank]);
    parameters.owner_mask = static_cast<const std::uint32_t*>(tables_[rank].owner_mask.get());
    parameters.tokens = static_cast<std::uint32_t>(tokens_);
    parameters.first_token = static_cast<std::uint32_t>(one.rank * tokens_);
    parameters.elements = static_cast<std::uint32_t>(options_.params.hidden_size);
    parameters.type = options_.params.dtype;
    parameters.wrong = wrong;
    launch_sum_check(parameters, one.stream.get());
  });
}

}  // namespace switchyard::harness
