// SPDX-License-Identifier: Apache-2.0
#include "nccl_all_gather.hpp"

#include <cstring>

#include "../device_check.hpp"
#include "exact_rows.hpp"

namespace switchyard::harness {
namespace {

/// Payloads of a block begin at multiples of 16 bytes.
std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

std::size_t hidden_row_bytes(const bench_options& options) {
  return static_cast<std::size_t>(options.params.hidden_size) * itemsize(options.params.dtype);
}

}  // namespace

nccl_all_gather::nccl_all_gather(nccl_group& group, const bench_options& options, const bench_inputs& inputs,
                                 nccl_memory memory)
    : group_(group),
      options_(options),
      inputs_(inputs),
      tokens_(options.params.max_tokens_per_rank),
      block_(group, memory, block_bytes(tokens_)),
      gathered_(group, memory, block_bytes(tokens_) * static_cast<std::size_t>(group.size())),
      rows_(group, memory, output_bytes() * static_cast<std::size_t>(group.size())),
      output_(group, memory, output_bytes()) {}

std::size_t nccl_all_gather::block_bytes(std::int64_t tokens) const {
  std::size_t bytes = 0;
  for (const auto kind : all_payloads) bytes += aligned(static_cast<std::size_t>(tokens) * inputs_.row_bytes(kind));
  return bytes;
}

std::size_t nccl_all_gather::output_bytes() const {
  return static_cast<std::size_t>(tokens_) * hidden_row_bytes(options_);
}

void nccl_all_gather::prepare(std::int64_t tokens) {
  tokens_ = tokens;
  const auto ranks = static_cast<std::size_t>(group_.size());
  const auto bytes = block_bytes(tokens);
  std::vector<std::byte> blocks(ranks * bytes);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    auto* out = blocks.data() + rank * bytes;
    for (const auto kind : all_payloads) {
      const auto of_kind = static_cast<std::size_t>(tokens) * inputs_.row_bytes(kind);
      if (of_kind == 0) continue;
      std::memcpy(out, inputs_.rows(kind, static_cast<int>(rank)).data(), of_kind);
      out += aligned(of_kind);
    }
  }
  const reference::step_shape shape{group_.size(), options_.params, tokens};
  const auto routing = inputs_.routing(tokens);
  const auto all_rows = exact_rows_of(shape, routing);
  expected_.clear();
  owner_mask_.clear();
  for (auto& one : group_.ranks()) {
    one.make_current();
    const auto rank = static_cast<std::size_t>(one.rank);
    expected_.push_back(upload(std::span<const std::byte>(blocks)));
    owner_mask_.push_back(upload(std::span<const std::uint32_t>(all_rows[rank].owner_mask)));
    check_cuda(cudaMemcpy(block_.of(one), blocks.data() + rank * bytes, bytes, cudaMemcpyHostToDevice),
               "uploading a block");
    std::vector<std::int32_t> row_token(ranks * static_cast<std::size_t>(tokens), -1);
    for (const auto token : all_rows[rank].received_token) row_token[static_cast<std::size_t>(token)] = token;
    const auto table = upload(std::span<const std::int32_t>(row_token));
    exact_rows_parameters parameters;
    parameters.out = rows_.of(one);
    parameters.tokens = static_cast<const std::int32_t*>(table.get());
    parameters.rows = static_cast<std::uint32_t>(row_token.size());
    parameters.elements = static_cast<std::uint32_t>(options_.params.hidden_size);
    parameters.rank = static_cast<std::uint32_t>(rank);
    parameters.type = options_.params.dtype;
    launch_exact_rows(parameters, one.stream.get());
    check_cuda(cudaStreamSynchronize(one.stream.get()), "rows of experts");
  }
}

void nccl_all_gather::dispatch(const timed_rank& one) {
  group_.api().check(group_.api().all_gather(block_.of(one), gathered_.of(one), block_bytes(tokens_), ncclInt8,
                                             group_.comm(one), one.stream.get()),
                     "ncclAllGather");
}

void nccl_all_gather::combine(const timed_rank& one) {
  const auto type = options_.params.dtype == dtype::fp16 ? ncclFloat16 : ncclBfloat16;
  const auto elements = static_cast<std::size_t>(tokens_ * options_.params.hidden_size);
  group_.api().check(group_.api().reduce_scatter(rows_.of(one), output_.of(one), elements, type, ncclSum,
                                                 group_.comm(one), one.stream.get()),
                     "ncclReduceScatter");
}

void nccl_all_gather::spoil() {
  for (auto& one : group_.ranks()) {
    one.make_current();
    const auto gathered = block_bytes(tokens_) * static_cast<std::size_t>(group_.size());
    check_cuda(cudaMemsetAsync(gathered_.of(one), 0xCD, gathered, one.stream.get()), "spoiling results");
    check_cuda(cudaMemsetAsync(output_.of(one), 0xCD, output_bytes(), one.stream.get()), "spoiling results");
  }
  group_.synchronize();
}

std::string nccl_all_gather::check_dispatch() {
  return count_wrong(group_, "gathered words", [&](const timed_rank& one, unsigned long long* wrong) {
    launch_comparison(gathered_.of(one), bytes_of(expected_[static_cast<std::size_t>(one.rank)]),
                      block_bytes(tokens_) * static_cast<std::size_t>(group_.size()), wrong, one.stream.get());
  });
}

std::string nccl_all_gather::check_combine() {
  return count_wrong(group_, "sums", [&](const timed_rank& one, unsigned long long* wrong) {
    sum_check_parameters parameters;
    parameters.is = output_.of(one);
    parameters.owner_mask = static_cast<const std::uint32_t*>(owner_mask_[static_cast<std::size_t>(one.rank)].get());
    parameters.tokens = static_cast<std::uint32_t>(tokens_);
    parameters.first_token = static_cast<std::uint32_t>(one.rank * tokens_);
    parameters.elements = static_cast<std::uint32_t>(options_.params.hidden_size);
    parameters.type = options_.params.dtype;
    parameters.wrong = wrong;
    launch_sum_check(parameters, one.stream.get());
  });
}

}  // namespace switchyard::harness
