// SPDX-License-Identifier: Apache-2.0
// One step of a one-rank group with experts that change nothing: tokens come back as they went out.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <switchyard/switchyard.hpp>

namespace {

constexpr int tokens = 3;
constexpr int hidden_size = 8;
constexpr int top_k = 2;

int exchange() {
  switchyard::host_stream stream;
  const auto backends = switchyard::make_in_process_backends(1);
  switchyard::bootstrap boot;
  boot.comm_backend = backends[0];
  switchyard::one_sided_all_to_all exchange(
      boot, {.num_experts = 4, .top_k = top_k, .max_tokens_per_rank = tokens, .hidden_size = hidden_size});

  // bf16 bit patterns 1, 1.0078125, ...; the last token goes to no expert and must come back as zeros.
  alignas(16) std::uint16_t hidden[tokens][hidden_size];
  for (int i = 0; i < tokens * hidden_size; ++i) {
    hidden[i / hidden_size][i % hidden_size] = static_cast<std::uint16_t>(0x3F80 + i);
  }
  alignas(16) const std::int32_t ids[tokens][top_k] = {{3, 0}, {1, 2}, {-1, -1}};
  switchyard::dispatch_inputs inputs;
  inputs.num_tokens = tokens;
  inputs.hidden_states = {.data = hidden, .row_bytes = sizeof(hidden[0]), .present = true};
  inputs.topk_ids = {.data = ids, .row_bytes = sizeof(ids[0]), .present = true};
  const auto received = exchange.dispatch(inputs, {}, stream);

  const auto experts = exchange.combine_input_buffer(switchyard::dtype::bf16);
  int count = -1;
  stream.enqueue([&] {
    count = received.recv_counts[0];
    std::memcpy(experts.data, received.hidden_states.data, sizeof(hidden));
  });
  alignas(16) std::uint16_t output[tokens][hidden_size];
  std::memset(output, 0xFF, sizeof(output));
  exchange.combine({.expert_output = experts.data, .hidden_size = hidden_size, .dtype = switchyard::dtype::bf16},
                   {.data = output, .num_tokens = tokens}, stream);
  stream.synchronize();

  if (exchange.status() || count != tokens - 1) return std::fprintf(stderr, "count %d, fault or not\n", count), 1;
  std::memset(hidden[tokens - 1], 0, sizeof(hidden[0]));
  if (std::memcmp(output, hidden, sizeof(hidden)) != 0) return std::fprintf(stderr, "output differs\n"), 1;
  std::puts("dispatch and combine agree");
  return 0;
}

}  // namespace

int main() {
  try {
    return exchange();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
