// SPDX-License-Identifier: Apache-2.0
#include "construction.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

enum class outcome : std::uint32_t { ready, invalid_argument, unsupported, out_of_memory, other };

constexpr std::array<std::string_view, 18> term_names{"num_experts",
                                                      "top_k",
                                                      "max_tokens_per_rank",
                                                      "hidden_size",
                                                      "dtype",
                                                      "dispatch_format",
                                                      "invalid_expert_id",
                                                      "extra_payload_bytes_per_token",
                                                      "timeout (ns)",
                                                      "warmup_timeout (ns)",
                                                      "max_blocks",
                                                      "ep_size",
                                                      "fabric kind",
                                                      "workspace_bytes",
                                                      "first_epoch",
                                                      "byte order",
                                                      "group id (high)",
                                                      "group id (low)"};
using term_values = std::array<std::int64_t, term_names.size()>;

/// One rank's part of the gathering; plain bytes.
struct verdict {
  outcome result = outcome::ready;
  std::uint32_t reason_length = 0;
  std::array<char, 240> reason{};
  term_values terms{};
};

template <class Value>
std::int64_t as_term(Value value) {
  return static_cast<std::int64_t>(value);
}

term_values values_of(const group_terms& terms, const group_id& id) {
  const auto& p = terms.params;
  const auto& c = terms.config;
  return {p.num_experts,         p.top_k,
          p.max_tokens_per_rank, p.hidden_size,
          as_term(p.dtype),      p.dispatch_format ? as_term(*p.dispatch_format) : -1,
          p.invalid_expert_id,   as_term(c.extra_payload_bytes_per_token),
          c.timeout.count(),     c.warmup_timeout.count(),
          c.max_blocks,          terms.ep_size,
          as_term(terms.kind),   as_term(terms.workspace_bytes),
          terms.first_epoch,     0x0102030405060708,
          as_term(id[0]),        as_term(id[1])};
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

void check_terms(const std::vector<verdict>& all) {
  std::string text;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < term_names.size(); ++i) {
      if (all[rank].terms[i] == all[0].terms[i]) continue;
      text += (text.empty() ? "" : "; ") + std::string(term_names[i]) + " is " + std::to_string(all[rank].terms[i]) +
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
  mine.terms = values_of(terms, backend.group_id());
  try {
    prepare();
  } catch (const invalid_argument& e) {
    keep_reason(mine, outcome::invalid_argument, e.what());
  } catch (const unsupported& e) {
    keep_reason(mine, outcome::unsupported, e.what());
  } catch (const out_of_memory& e) {
    keep_reason(mine, outcome::out_of_memory, e.what());
  } catch (const std::exception& e) {
    keep_reason(mine, outcome::other, e.what());
  }
  std::vector<verdict> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), timeout);

  if (mine.result != outcome::ready) fail(mine.result, "construction: " + reasons(all));
  for (const auto& v : all) {
    if (v.result != outcome::ready) fail(v.result, "construction: " + reasons(all));
  }
  check_terms(all);
}

}  // namespace switchyard
