// SPDX-License-Identifier: Apache-2.0
// FNV-1a of 64 bits, as its authors define it.
#include "switchyard/harness/digest.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "switchyard/harness/generator.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {
namespace {

class fnv1a {
 public:
  void add(std::string_view bytes) noexcept {
    for (const char byte : bytes) state_ = (state_ ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  }
  void add_number(std::int64_t number) noexcept {
    for (unsigned shift = 0; shift < 64; shift += 8) {  // the same on every byte order
      const char byte = static_cast<char>(static_cast<std::uint64_t>(number) >> shift & 0xFFU);
      add({&byte, 1});
    }
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

std::uint64_t trace_digest(const routing_trace& trace) {
  const auto& about = trace.about();
  fnv1a digest;
  for (int step = 0; step < about.steps; ++step) {
    for (int rank = 0; rank < about.ranks; ++rank) {
      digest.add_number(trace.num_tokens(step, rank));
      for (std::int64_t token = 0; token < trace.num_tokens(step, rank); ++token) {
        for (const auto id : trace.topk_ids(step, rank, token)) digest.add_number(id);
        if (!trace.has_weights()) continue;
        for (const auto weight : trace.topk_weights(step, rank, token)) {
          digest.add_number(std::bit_cast<std::int32_t>(weight));
        }
      }
    }
  }
  return digest.value();
}

}  // namespace

std::uint64_t cases_digest(const std::vector<case_spec>& cases) {
  fnv1a digest;
  std::map<const routing_trace*, std::uint64_t> traces;  // each is read once, and many cases share it
  for (const auto& spec : cases) {
    digest.add(spec.id + ' ' + record_line(spec_json(spec)) + '\n');
    if (!spec.trace) continue;
    const auto [found, is_new] = traces.try_emplace(spec.trace.get());
    if (is_new) found->second = trace_digest(*spec.trace);
    digest.add_number(static_cast<std::int64_t>(found->second));
  }
  return digest.value();
}

std::uint64_t inputs_digest(const case_spec& spec, std::uint64_t seed) {
  constexpr int most_steps = 16;  // a case of a million steps is still told apart by its first ones
  fnv1a digest;
  for (int step = 0; step < std::min(spec.steps, most_steps); ++step) {
    const step_generator made(spec, seed, step);
    const auto& plan = made.plan();
    for (const auto number :
         {plan.tokens_per_rank, std::int64_t{plan.topk_weights}, std::int64_t{plan.extra},
          std::int64_t{plan.invalid_percent}, plan.combine_hidden_size, static_cast<std::int64_t>(plan.source)}) {
      digest.add_number(number);
    }
    std::vector<std::int32_t> ids(static_cast<std::size_t>(spec.params.top_k));
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      const auto count = plan.num_tokens[static_cast<std::size_t>(rank)];
      digest.add_number(count);
      if (count == 0) continue;
      made.fill_row(payload_kind::topk_ids, rank, 0, reinterpret_cast<std::byte*>(ids.data()));
      for (const auto id : ids) digest.add_number(id);
    }
  }
  return digest.value();
}

std::uint64_t bytes_digest(std::string_view bytes) noexcept {
  fnv1a digest;
  digest.add(bytes);
  return digest.value();
}

}  // namespace switchyard::harness
