// SPDX-License-Identifier: Apache-2.0
// The installed words are usable on their own: no library is linked.
#include <switchyard/spec/shapes.hpp>

int main() {
  const switchyard::comm_params params{.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 4, .hidden_size = 64};
  return params.dispatch_bytes_per_token() == 2 * 64 ? 0 : 1;
}
