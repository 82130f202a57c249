// SPDX-License-Identifier: Apache-2.0
// From JSON lines to a trace. As strict as the reader of scenarios.
#include <cmath>
#include <filesystem>
#include <limits>

#include "json_members.hpp"
#include "switchyard/harness/routing_trace.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {
namespace {

// A step of 4096 tokens with 32 experts and weights is below this; the parsed form of a line is some times larger.
constexpr std::size_t most_line_bytes = std::size_t{4} << 20;
constexpr std::int64_t most_steps = std::int64_t{1} << 20;  // the bound of the field steps

std::int64_t read_integer(const json_at& at, std::int64_t min, std::int64_t max) {
  const auto rule = [&] { return "must be an integer from " + std::to_string(min) + " to " + std::to_string(max); };
  const bool too_large =
      at.value.is_number_unsigned() && at.value.get<std::uint64_t>() > static_cast<std::uint64_t>(max);
  if (!at.value.is_number_integer() || too_large) refuse(at, rule());
  const auto number = at.value.get<std::int64_t>();
  if (number < min || number > max) refuse(at, rule());
  return number;
}

float read_weight(const json_at& at) {
  constexpr double most = std::numeric_limits<float>::max();
  const double value = at.value.is_number() ? at.value.get<double>() : std::numeric_limits<double>::infinity();
  // A double above the largest float but below halfway to the next power would round to it; it is refused all the same.
  if (!std::isfinite(value) || std::fabs(value) > most) refuse(at, "must be a number that is finite in fp32");
  return static_cast<float>(value);
}

}  // namespace

/// Reads line after line into a trace.
class trace_reader {
 public:
  explicit trace_reader(const std::string& file) : file_(file) {}

  routing_trace read(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const auto end = text.find('\n');
      read_line(text.substr(0, end), number);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    if (trace_.about_.name.empty()) trace_.about_.name = std::filesystem::path(file_).stem().string();
    if (trace_.ids_.empty()) refuse({file_, ""}, "", "must have at least one row");
    trace_.about_.ranks = declared_ranks_.value_or(trace_.about_.ranks);
    trace_.ids_.shrink_to_fit();
    trace_.weights_.shrink_to_fit();
    return std::move(trace_);
  }

 private:
  void read_line(std::string_view line, std::size_t number) {
    const input_place place{file_ + ": line " + std::to_string(number), ""};
    if (line.size() > most_line_bytes) {
      refuse(place, std::to_string(line.size()) + " bytes", "must be at most " + std::to_string(most_line_bytes));
    }
    const auto document = parse_json_line(line, place.file);
    const json_at at{document, place};
    require_object(at);
    if (number == 1 && document.contains("trace")) {
      read_description(at);
    } else {
      read_rows(at);
    }
  }

  void read_description(const json_at& at) {
    require_known(at, {"trace", "description", "synthetic", "generator", "seed", "num_experts", "top_k", "ranks"});
    auto& about = trace_.about_;
    about.name = read_word(member(at, "trace"));
    const auto stem = std::filesystem::path(file_).stem().string();
    if (about.name != stem) refuse(member(at, "trace"), "must be the file's name without .jsonl: " + stem);
    const auto given = [&](std::string_view key) { return at.value.contains(std::string(key)); };
    if (given("description")) about.description = read_sentence(member(at, "description"));
    if (given("generator")) about.generator = read_sentence(member(at, "generator"));
    if (given("synthetic")) {
      if (!member(at, "synthetic").value.is_boolean()) refuse(member(at, "synthetic"), "must be true or false");
      about.synthetic = member(at, "synthetic").value.get<bool>();
    }
    if (given("seed")) about.seed = read_integer(member(at, "seed"), 0, std::numeric_limits<std::int64_t>::max());
    if (given("num_experts")) about.num_experts = read_integer(member(at, "num_experts"), 1, most_steps);
    if (given("top_k")) about.top_k = read_integer(member(at, "top_k"), 1, max_top_k);
    if (given("ranks")) declared_ranks_ = static_cast<int>(read_integer(member(at, "ranks"), 1, max_ep_size));
  }

  void read_rows(const json_at& at) {
    require_known(at, {"step", "rank", "topk_ids", "topk_weights"});
    const auto step = static_cast<int>(read_integer(member(at, "step"), 0, most_steps - 1));
    const auto most_ranks = declared_ranks_.value_or(max_ep_size);
    const auto rank = static_cast<int>(read_integer(member(at, "rank"), 0, most_ranks - 1));
    const auto ids = member(at, "topk_ids");
    require_array(ids);
    const auto top_k = static_cast<std::size_t>(trace_.about_.top_k);
    const auto first = top_k == 0 ? 0 : trace_.ids_.size() / top_k;
    const auto count = static_cast<std::int64_t>(ids.value.size());
    if (!trace_.rows_.emplace(std::pair{step, rank}, routing_trace::row_range{first, count}).second) {
      refuse(at.place, "", "step " + std::to_string(step) + " of rank " + std::to_string(rank) + " is there twice");
    }
    trace_.about_.steps = std::max(trace_.about_.steps, step + 1);
    trace_.about_.ranks = std::max(trace_.about_.ranks, rank + 1);
    for (std::size_t row = 0; row < ids.value.size(); ++row) {
      for_each_slot(element(ids, row), [&](const json_at& slot) {
        constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        trace_.ids_.push_back(static_cast<std::int32_t>(read_integer(slot, least, most)));
      });
    }
    read_weights(at, ids.value.size());
  }

  void read_weights(const json_at& at, std::size_t num_rows) {
    const bool given = at.value.contains("topk_weights");
    if (!weighted_) weighted_ = given;
    if (*weighted_ && !given) refuse(at.place.child("topk_weights"), "", "missing: earlier lines have it");
    if (!given) return;
    const auto weights = member(at, "topk_weights");
    if (!*weighted_) refuse(weights, "must be on every line or on none: earlier lines do not have it");
    require_array(weights);
    if (weights.value.size() != num_rows) {
      refuse(weights, "must have as many rows as topk_ids, " + std::to_string(num_rows));
    }
    for (std::size_t row = 0; row < num_rows; ++row) {
      for_each_slot(element(weights, row), [&](const json_at& slot) { trace_.weights_.push_back(read_weight(slot)); });
    }
  }

  /// Calls visit for each slot of a row, which must be as long as all others. The first row of all decides.
  template <typename Visit>
  void for_each_slot(const json_at& row, Visit visit) {
    require_array(row);
    auto& top_k = trace_.about_.top_k;
    if (top_k == 0) {
      if (row.value.empty() || row.value.size() > max_top_k) {
        refuse(row, "must have 1 to " + std::to_string(max_top_k) + " slots");
      }
      top_k = static_cast<std::int64_t>(row.value.size());
    }
    if (row.value.size() != static_cast<std::size_t>(top_k)) {
      refuse(row, "must have " + std::to_string(top_k) + " slots, as every row of the trace");
    }
    for (std::size_t slot = 0; slot < row.value.size(); ++slot) visit(element(row, slot));
  }

  std::string file_;
  routing_trace trace_;
  std::optional<int> declared_ranks_;
  std::optional<bool> weighted_;  // what the first line of rows decided
};

routing_trace routing_trace::parse(std::string_view text, const std::string& file) {
  return trace_reader(file).read(text);
}

}  // namespace switchyard::harness
