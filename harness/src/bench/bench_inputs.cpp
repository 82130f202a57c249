// SPDX-License-Identifier: Apache-2.0
#include "bench_inputs.hpp"

#include <cstring>
#include <thread>

namespace switchyard::harness {

bench_inputs::bench_inputs(const bench_options& options) : params_(options.params) {
  case_spec spec;
  spec.ep_size = options.ranks;
  spec.params = options.params;
  spec.num_tokens = options.params.max_tokens_per_rank;
  spec.routing = options.routing;
  const step_generator generator(spec, options.seed, 0);
  rows_.resize(static_cast<std::size_t>(options.ranks));
  for (const auto kind : all_payloads) row_bytes_[static_cast<std::size_t>(kind)] = generator.row_bytes(kind);

  const auto fill = [&](int rank) {
    for (const auto kind : all_payloads) {
      auto& bytes = rows_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)];
      bytes.resize(static_cast<std::size_t>(spec.num_tokens) * row_bytes(kind));
      for (std::int64_t token = 0; token < spec.num_tokens && row_bytes(kind) != 0; ++token) {
        generator.fill_row(kind, rank, token, bytes.data() + static_cast<std::size_t>(token) * row_bytes(kind));
      }
    }
  };
  std::vector<std::jthread> threads;
  threads.reserve(rows_.size());
  for (int rank = 0; rank < options.ranks; ++rank) threads.emplace_back(fill, rank);
}

std::vector<reference::rank_routing> bench_inputs::routing(std::int64_t tokens) const {
  std::vector<reference::rank_routing> result(rows_.size());
  for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
    result[rank].num_tokens = tokens;
    result[rank].topk_ids.resize(static_cast<std::size_t>(tokens * params_.top_k));
    std::memcpy(result[rank].topk_ids.data(), rows(payload_kind::topk_ids, static_cast<int>(rank)).data(),
                result[rank].topk_ids.size() * sizeof(std::int32_t));
  }
  return result;
}

}  // namespace switchyard::harness
