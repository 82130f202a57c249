// SPDX-License-Identifier: Apache-2.0
// What a rank holds after dispatch against what the golden model says it must hold.
#include <algorithm>
#include <cstring>
#include <string>

#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/verifier.hpp"
#include "verifier_bytes.hpp"

namespace switchyard::harness {
namespace {

// A partly written row is told from a corrupt one by this many bytes of poison: fewer may be chance.
constexpr std::uint64_t least_unwritten_bytes = 8;

std::string name_of(const row_origin& origin) {
  return "row of token " + std::to_string(origin.token) + " of rank " + std::to_string(origin.rank) + " in step " +
         std::to_string(origin.step);
}

const std::byte* row_at(const rows_view& view, std::int64_t row) {
  return view.data + static_cast<std::size_t>(row) * view.row_bytes;
}

}  // namespace

const rows_view& view_of(const dispatch_result& views, payload_kind kind) noexcept {
  switch (kind) {
    case payload_kind::hidden_states: return views.hidden_states;
    case payload_kind::topk_ids: return views.topk_ids;
    case payload_kind::topk_weights: return views.topk_weights;
    case payload_kind::hidden_states_scale: return views.hidden_states_scale;
    case payload_kind::extra: return views.extra;
  }
  return views.hidden_states;
}

void rank_verifier::check_dispatch(const step_inputs& inputs, const dispatch_result& views, finding_log& log) {
  check_counts(inputs, views, log);
  check_statistics(inputs, views, log);
  const auto& source_tokens = inputs.golden(rank_).source_tokens;
  const std::int64_t tokens_per_rank = inputs.plan().tokens_per_rank;
  last_rows_ = {};
  for (const auto kind : all_payloads) {
    const std::size_t row_bytes = inputs.generator().row_bytes(kind);
    const rows_view& view = view_of(views, kind);
    if (row_bytes != view.row_bytes || (row_bytes > 0) != (view.data != nullptr)) {
      log.add({.verdict = verdict::corruption,
               .step = inputs.step(),
               .destination = rank_,
               .buffer = std::string(to_string(kind)),
               .expected = row_bytes,
               .actual = view.row_bytes,
               .detail = "the view's row_bytes or null pointer does not fit the payload"});
      continue;
    }
    if (row_bytes == 0) continue;
    for (std::size_t i = 0; i < source_tokens.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (source_tokens[i] < 0) {
        if (kind == payload_kind::topk_ids) check_padding(inputs, views, row, log);
        continue;
      }
      checked_bytes_ += row_bytes;
      digest_row(inputs.step(), static_cast<std::size_t>(kind), row, {row_at(view, row), row_bytes});
      const auto source = static_cast<int>(row / tokens_per_rank);
      if (std::memcmp(row_at(view, row), inputs.row(kind, source, source_tokens[i]), row_bytes) == 0) continue;
      auto& wrong_rows = last_rows_[static_cast<std::size_t>(kind)];
      if (wrong_rows.wrong++ == 0) wrong_rows.first = row;
      if (log.full()) {
        log.count_only(1);
      } else {
        log.add(explain_row(inputs, kind, view, row, source_tokens[i]));
      }
    }
  }
}

void rank_verifier::check_counts(const step_inputs& inputs, const dispatch_result& views, finding_log& log) {
  const auto dropped = inputs.golden(rank_).dropped_routes;
  const auto told = views.dropped_routes == nullptr ? 0 : *views.dropped_routes;
  if (told != dropped) {
    log.add({.verdict = verdict::wrong_count,
             .step = inputs.step(),
             .destination = rank_,
             .buffer = "dropped_routes",
             .byte = 0,
             .expected = static_cast<std::uint64_t>(dropped),
             .actual = static_cast<std::uint32_t>(told)});
  }
  const auto& expected = inputs.golden(rank_).recv_counts;
  finding wrong{.verdict = verdict::wrong_count, .step = inputs.step(), .destination = rank_, .buffer = "recv_counts"};
  if (views.recv_counts.size() != expected.size() || views.tokens_per_rank != inputs.plan().tokens_per_rank) {
    wrong.expected = expected.size();
    wrong.actual = views.recv_counts.size();
    wrong.detail = "length of recv_counts, or tokens_per_rank " + std::to_string(views.tokens_per_rank) +
                   " where T is " + std::to_string(inputs.plan().tokens_per_rank);
    log.add(wrong);
    return;
  }
  for (std::size_t source = 0; source < expected.size(); ++source) {
    checked_bytes_ += sizeof(std::int32_t);
    if (views.recv_counts[source] == expected[source]) continue;
    wrong.source = static_cast<int>(source);
    wrong.byte = static_cast<std::int64_t>(4 * source);
    wrong.expected = static_cast<std::uint32_t>(expected[source]);
    wrong.actual = static_cast<std::uint32_t>(views.recv_counts[source]);
    log.add(wrong);
  }
}

void rank_verifier::check_padding(const step_inputs& inputs, const dispatch_result& views, std::int64_t row,
                                  finding_log& log) {
  const std::int32_t invalid = inputs.params().invalid_expert_id;
  const std::byte* ids = row_at(views.topk_ids, row);
  checked_bytes_ += views.topk_ids.row_bytes;
  finding found{.verdict = verdict::bad_padding,
                .step = inputs.step(),
                .source = static_cast<int>(row / inputs.plan().tokens_per_rank),
                .destination = rank_,
                .row = row,
                .buffer = "topk_ids",
                .count = 0};
  for (std::size_t at = 0; at < views.topk_ids.row_bytes; at += sizeof(std::int32_t)) {
    std::int32_t id = 0;
    std::memcpy(&id, ids + at, sizeof id);
    if (id == invalid) continue;
    if (found.count++ == 0) {
      found.byte = static_cast<std::int64_t>(at);
      found.expected = static_cast<std::uint32_t>(invalid);
      found.actual = static_cast<std::uint32_t>(id);
    }
  }
  if (found.count == 0) return;
  if (log.full()) return log.count_only(1);
  const std::span<const std::byte> bytes(ids, views.topk_ids.row_bytes);
  for (int step = inputs.step(); step >= inputs.step() - remembered_steps && found.detail.empty(); --step) {
    if (const auto origin = rows_.find(payload_kind::topk_ids, step, bytes)) found.detail = name_of(*origin);
  }
  found.count *= sizeof(std::int32_t);
  log.add(std::move(found));
}

finding rank_verifier::explain_row(const step_inputs& inputs, payload_kind kind, const rows_view& view,
                                   std::int64_t row, std::int64_t token) {
  const std::byte* actual = row_at(view, row);
  const std::byte poison = poison_byte(inputs.step() - 1);  // filled in before the peers could write this step
  finding found{.verdict = verdict::corruption,
                .step = inputs.step(),
                .source = static_cast<int>(row / inputs.plan().tokens_per_rank),
                .destination = rank_,
                .token = token,
                .row = row,
                .buffer = std::string(to_string(kind))};
  const auto difference = compare_rows(inputs.row(kind, found.source, token), actual, view.row_bytes,
                                       element_bytes(inputs.params(), kind), poison);
  found.byte = static_cast<std::int64_t>(difference.first);
  found.expected = difference.expected;
  found.actual = difference.actual;
  found.count = 1;  // a whole row, unless it turns out to be the right one with wrong bytes

  const auto is_invalid = [&](std::size_t slot) {
    return load_bits(actual + 4 * slot, 4) == static_cast<std::uint32_t>(inputs.params().invalid_expert_id);
  };
  if (looks_unwritten(actual, view.row_bytes, poison)) {
    found.verdict = verdict::loss;
    found.detail = "never written";
    return found;
  }
  if (kind == payload_kind::topk_ids) {
    std::size_t invalid_slots = 0;
    while (4 * invalid_slots < view.row_bytes && is_invalid(invalid_slots)) ++invalid_slots;
    if (4 * invalid_slots == view.row_bytes) {
      found.verdict = verdict::loss;
      found.detail = "marked as holding no token";
      return found;
    }
  }
  explain_origin(inputs, kind, view, found);
  if (found.verdict != verdict::corruption) return found;
  found.count = difference.count;
  if (difference.unwritten == difference.count && difference.count >= least_unwritten_bytes) {
    found.verdict = verdict::loss;
    found.detail = "part of the row was never written, the rest is right";
  }
  return found;
}

// Sets verdict and detail when the row's bytes are those of another row; leaves `corruption` when nobody's are.
void rank_verifier::explain_origin(const step_inputs& inputs, payload_kind kind, const rows_view& view,
                                   finding& found) {
  const std::span<const std::byte> actual(row_at(view, found.row), view.row_bytes);
  if (const auto origin = rows_.find(kind, inputs.step(), actual)) {
    found.detail = name_of(*origin);
    found.verdict = verdict::misplacement;
    const auto& tokens = inputs.golden(rank_).source_tokens;
    const std::int64_t first = origin->rank * inputs.plan().tokens_per_rank;
    const auto begin = tokens.begin() + first;
    const auto end = begin + inputs.plan().tokens_per_rank;
    const auto own_place = std::find(begin, end, origin->token);
    if (own_place == end) {
      found.detail += ", which was not routed here";
    } else if (std::memcmp(row_at(view, own_place - tokens.begin()), actual.data(), actual.size()) == 0) {
      found.verdict = verdict::duplication;
      found.detail += ", which is also in its own row " + std::to_string(own_place - tokens.begin());
    }
    return;
  }
  for (int step = inputs.step() - 1; step >= inputs.step() - remembered_steps; --step) {
    if (const auto origin = rows_.find(kind, step, actual)) {
      found.verdict = verdict::stale;
      found.detail = name_of(*origin);
      return;
    }
  }
}

void rank_verifier::check_faulted_dispatch(const step_inputs& inputs, const dispatch_result& views, finding_log& log) {
  finding wrong{.verdict = verdict::wrong_fault, .step = inputs.step(), .destination = rank_, .count = 0};
  const auto note = [&](std::string_view buffer, std::int64_t row, std::size_t byte, std::uint64_t expected,
                        std::uint64_t actual) {
    if (wrong.count++ > 0) return;
    wrong.buffer = std::string(buffer);
    wrong.row = row;
    wrong.byte = static_cast<std::int64_t>(byte);
    wrong.expected = expected;
    wrong.actual = actual;
  };
  for (std::size_t source = 0; source < views.recv_counts.size(); ++source) {
    const auto count = static_cast<std::uint32_t>(views.recv_counts[source]);
    if (count != 0) note("recv_counts", -1, 4 * source, 0, count);
  }
  if (views.dropped_routes != nullptr && *views.dropped_routes != 0) {
    note("dropped_routes", -1, 0, 0, static_cast<std::uint32_t>(*views.dropped_routes));
  }
  for (std::size_t i = 0; i < views.eplb_gathered_stats.size(); ++i) {
    const auto told = static_cast<std::uint32_t>(views.eplb_gathered_stats[i]);
    if (told != 0) note("eplb_gathered_stats", -1, 4 * i, 0, told);
  }
  const auto invalid = static_cast<std::uint32_t>(inputs.params().invalid_expert_id);
  // The rows that this rank's own T spans: where ranks disagree on T its views hold no others.
  const std::int64_t num_rows = inputs.ep_size() * inputs.plan().tokens_per_rank_of(rank_);
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::size_t at = 0; at < views.topk_ids.row_bytes; at += 4) {
      const std::uint64_t id = load_bits(row_at(views.topk_ids, row) + at, 4);
      if (id != invalid) note("topk_ids", row, at, invalid, id);
    }
  }
  checked_bytes_ += views.recv_counts.size_bytes() + static_cast<std::uint64_t>(num_rows) * views.topk_ids.row_bytes;
  if (wrong.count == 0) return;
  wrong.detail = "a faulted dispatch must leave only invalid ids, and counts and statistics of 0";
  log.add(std::move(wrong));
}

}  // namespace switchyard::harness
