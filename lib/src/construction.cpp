// SPDX-License-Identifier: Apache-2.0
#include "construction.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

enum class outcome : std::uint32_t {
  ready,
  invalid_argument,
  unsupported,
  out_of_memory,
  cuda_error,
  state_error,
  other
};

struct term {
  std::string_view name;
  std::int64_t value;
};
constexpr std::size_t num_terms = 26;

/// One rank's part of the gathering; plain bytes.
struct verdict {
  outcome result = outcome::ready;
  std::uint32_t reason_length = 0;
  std::array<char, 240> reason{};
  std::array<std::int64_t, num_terms> terms{};
};

template <class Value>
std::int64_t as_term(Value value) {
  return static_cast<std::int64_t>(value);
}

/// All terms, in the order in which a difference is named.
std::array<term, num_terms> terms_of(const group_terms& terms, const group_id& id) {
  const auto& p = terms.params;
  const auto& c = terms.config;
  return {{{"group id (high)", as_term(id[0])},
           {"group id (low)", as_term(id[1])},
           {"ep_size", terms.ep_size},
           {"fabric kind", as_term(terms.kind)},
           {"num_experts", p.num_experts},
           {"top_k", p.top_k},
           {"max_tokens_per_rank", p.max_tokens_per_rank},
           {"hidden_size", p.hidden_size},
           {"dtype", as_term(p.dtype)},
           {"dispatch_format", p.dispatch_format ? as_term(*p.dispatch_format) : -1},
           {"invalid_expert_id", p.invalid_expert_id},
           {"extra_payload_bytes_per_token", as_term(c.extra_payload_bytes_per_token)},
           {"eplb_stats_num_experts", c.eplb_stats_num_experts},
           {"timeout (ns)", c.timeout.count()},
           {"warmup_timeout (ns)", c.warmup_timeout.count()},
           {"enable_pdl", as_term(c.enable_pdl)},
           {"lamport", as_term(c.lamport)},
           {"lamport_max_tokens", c.lamport_max_tokens},
           {"enable_rank_mask", c.enable_rank_mask ? 1 : 0},
           {"low_precision_combine", as_term(c.low_precision_combine)},
           {"max_blocks", c.max_blocks},
           {"first_epoch", terms.first_epoch},
           {"instances made before on the workspace", terms.instance},
           {"workspace_bytes", as_term(terms.workspace_bytes)},
           {"layout digest", as_term(terms.layout_digest)},
           {"byte order", 0x0102030405060708}}};
}

void keep_reason(verdict& mine, outcome result, std::string_view reason) {
  mine.result = result;
  mine.reason_length = static_cast<std::uint32_t>(std::min(reason.size(), mine.reason.size()));
  std::memcpy(mine.reason.data(), reason.data(), mine.reason_length);
}

[[noreturn]] void fail(outcome result, const std::string& message) {
  switch (result) {
    case outcome::invalid_argument: throw invalid_argument(message);
    case outcome::unsupported: throw unsupported(message);
    case outcome::out_of_memory: throw out_of_memory(message);
    case outcome::cuda_error: throw cuda_error(message);
    case outcome::state_error: throw state_error(message);
    default: throw error(message);
  }
}

/// "rank 2: reason; rank 3: reason" over all ranks that failed.
std::string reasons(const std::vector<verdict>& all) {
  std::string text;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto& v = all[rank];
    if (v.result == outcome::ready) continue;
    text += (text.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + ": " +
            std::string(v.reason.data(), v.reason_length);
  }
  return text;
}

void check_terms(const std::vector<verdict>& all, const std::array<term, num_terms>& names) {
  std::string text;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (all[rank].terms[i] == all[0].terms[i]) continue;
      text += (text.empty() ? "" : "; ") + std::string(names[i].name) + " is " + std::to_string(all[rank].terms[i]) +
              " on rank " + std::to_string(rank) + " and " + std::to_string(all[0].terms[i]) + " on rank 0";
      break;  // what follows from the first difference (sizes) only adds noise
    }
  }
  if (!text.empty()) throw invalid_argument("construction: ranks must agree, but " + text);
}

}  // namespace

void agree_on_construction(comm_backend& backend, const group_terms& terms, std::chrono::nanoseconds timeout,
                           const std::function<void()>& prepare) {
  verdict mine;
  try {
    prepare();
  } catch (const invalid_argument& e) {
    keep_reason(mine, outcome::invalid_argument, e.what());
  } catch (const unsupported& e) {
    keep_reason(mine, outcome::unsupported, e.what());
  } catch (const out_of_memory& e) {
    keep_reason(mine, outcome::out_of_memory, e.what());
  } catch (const cuda_error& e) {
    keep_reason(mine, outcome::cuda_error, e.what());
  } catch (const state_error& e) {
    keep_reason(mine, outcome::state_error, e.what());
  } catch (const std::bad_alloc&) {
    keep_reason(mine, outcome::out_of_memory, "host memory for the library's own tables could not be had");
  } catch (const std::exception& e) {
    keep_reason(mine, outcome::other, e.what());
  }
  const auto named = terms_of(terms, backend.group_id());
  for (std::size_t i = 0; i < named.size(); ++i) mine.terms[i] = named[i].value;
  std::vector<verdict> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), timeout);

  if (mine.result != outcome::ready) fail(mine.result, "construction: " + reasons(all));
  for (const auto& v : all) {
    if (v.result != outcome::ready) fail(v.result, "construction: " + reasons(all));
  }
  check_terms(all, named);
}

}  // namespace switchyard
