// SPDX-License-Identifier: Apache-2.0
// Accepted baselines: a folder with a file of samples per testbed and a log of who accepted or rejected what, and why.
//
//   STEM.jsonl   accepted samples; STEM is file_stem_of() the testbed
//   log.jsonl    {"record":"baseline_log", "schema":1, "time", "action":"accept|reject", "owner", "reason", "samples",
//                 "digest", "testbed", "build"}                       one line a decision; lines are only ever added
//
// A decision is about contents, known by their digest: what was rejected is not accepted under another name.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "switchyard/harness/gate/sample_set.hpp"

namespace switchyard::harness::gate {

inline constexpr int baseline_schema = 1;

enum class baseline_action : std::uint8_t { accept, reject };
std::string_view to_string(baseline_action which) noexcept;

struct baseline_decision {
  std::string time;  ///< UTC
  baseline_action action = baseline_action::accept;
  std::string owner;
  std::string reason;
  std::string samples;  ///< name of the file as it was given
  std::string digest;
  std::string testbed;  ///< key
  std::string build;
};

/// How strict accepting is.
enum class accept_what : std::uint8_t {
  sound,    ///< enough launches that all ended well, of sources without changes, not rejected before
  anything  ///< what is whole: for the one who knows better
};

class baseline_folder {
 public:
  /// Reads the log. Throws input_error for one that is no log. A folder that is not there is an empty one.
  explicit baseline_folder(std::filesystem::path folder);

  [[nodiscard]] const std::vector<baseline_decision>& log() const noexcept { return log_; }

  /// The accepted samples of this testbed; none: nothing was accepted, or it was rejected since. Throws input_error
  /// when the file's contents are not those that were accepted.
  [[nodiscard]] std::optional<sample_set> accepted(const testbed& bed) const;
  /// Decisions that stand: the last of each testbed, where it was to accept.
  [[nodiscard]] std::vector<baseline_decision> standing() const;

  /// Puts `samples` in the place of what was accepted for its testbed. The decision's time, owner and reason are the
  /// caller's; the rest is filled in. Times on a testbed of unknown_parts() are never accepted. Throws input_error with
  /// the rule that `samples` breaks.
  baseline_decision accept(const std::filesystem::path& samples, baseline_decision decision, accept_what what);
  /// Says that these samples are no baseline; when they are the accepted one, there is none from then on.
  baseline_decision reject(const std::filesystem::path& samples, baseline_decision decision);

 private:
  void note(const baseline_decision& decision);
  [[nodiscard]] std::filesystem::path file_of(const testbed& bed) const;

  std::filesystem::path folder_;
  std::vector<baseline_decision> log_;
};

}  // namespace switchyard::harness::gate
