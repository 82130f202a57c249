// SPDX-License-Identifier: Apache-2.0
// Routing traces: the experts, and if wanted the weights, of every token of some steps, taken from a model or made up.
//
// A trace is a file <name>.jsonl: JSON lines in UTF-8, one object a line, no line empty.
//   first line, may be missing: {"trace": name, "description": text, "synthetic": true | false, "generator": text,
//                                "seed": integer, "num_experts": E, "top_k": K, "ranks": R}
//     trace is due and is the file's name; the rest may be missing and, where it is there, must be true of the lines.
//   other lines:                {"step": 0, "rank": 2, "topk_ids": [[3, 7], [1, -1]], "topk_weights": [[0.5, 0.5], [1,
//   0]]}
//     the n rows of one rank in one step, each of top_k ids (int32). An id outside the experts names no expert.
//     topk_weights, of the same shape, are finite in fp32; all lines have them or none has.
// Lines may come in any order; a step and rank without a line has no tokens; one with two lines is refused. Layers of a
// model can be written as steps one after another.
//
// To convert a recording, write a line for each step (or layer) and rank: ids[tokens][top_k] as they came out of the
// router, in the order of that rank's tokens. tools/make_trace.py, which makes the shipped synthetic traces, writes the
// format with nothing but Python's json module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

/// What the first line says, and what all lines have in common.
struct trace_description {
  std::string name;
  std::string description;
  bool synthetic = false;  ///< made up, not recorded from a model
  std::string generator;   ///< the command that made it
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> num_experts;
  std::int64_t top_k = 0;
  int ranks = 0;  ///< as the first line says; else one more than the highest rank of a line
  int steps = 0;  ///< one more than the highest step of a line
};

/// A trace in memory. Immutable, usable by several threads. Steps beyond the last walk the trace round and round.
class routing_trace {
 public:
  /// `file` stands in messages, its stem is the name that is due. Throws input_error naming file, line, JSON pointer,
  /// value and rule.
  static routing_trace parse(std::string_view text, const std::string& file);

  [[nodiscard]] const trace_description& about() const noexcept { return about_; }
  [[nodiscard]] bool has_weights() const noexcept { return !weights_.empty(); }
  /// n of a rank; 0 for a rank that the trace does not have. Precondition: step >= 0.
  [[nodiscard]] std::int64_t num_tokens(int step, int rank) const;
  [[nodiscard]] std::int64_t largest_num_tokens() const noexcept;
  /// top_k ids. Precondition: 0 <= token < num_tokens(step, rank).
  [[nodiscard]] std::span<const std::int32_t> topk_ids(int step, int rank, std::int64_t token) const;
  /// top_k weights. Precondition: has_weights(), and as topk_ids.
  [[nodiscard]] std::span<const float> topk_weights(int step, int rank, std::int64_t token) const;
  /// Memory that the rows take.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  friend class trace_reader;
  struct row_range {
    std::size_t first = 0;
    std::int64_t count = 0;
  };
  [[nodiscard]] const row_range* rows_of(int step, int rank) const;
  [[nodiscard]] std::size_t first_slot(int step, int rank, std::int64_t token) const;

  trace_description about_;
  std::vector<std::int32_t> ids_;
  std::vector<float> weights_;  // of the same length, or empty
  std::map<std::pair<int, int>, row_range> rows_;
};

/// The traces of a folder, each read once. Not thread-safe.
class trace_folder {
 public:
  explicit trace_folder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::filesystem::path path_of(const std::string& name) const { return folder_ / (name + ".jsonl"); }
  /// Throws input_error when the file cannot be read or breaks a rule.
  std::shared_ptr<const routing_trace> load(const std::string& name);

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const routing_trace>> loaded_;
};

}  // namespace switchyard::harness
