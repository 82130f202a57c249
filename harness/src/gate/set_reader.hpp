// SPDX-License-Identifier: Apache-2.0
// Reads files line by line into one sample_set: a file of a million lines is never held as a whole.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "switchyard/harness/gate/sample_set.hpp"

namespace switchyard::harness::gate {

class set_reader {
 public:
  void read_file(const std::filesystem::path& file);
  /// What was read, when it is something. `source` stands in messages.
  sample_set finish(const std::string& source);

 private:
  enum class file_kind : std::uint8_t { none, samples, bench, run };
  using json = nlohmann::json;

  [[noreturn]] void refuse_line(const std::string& rule) const;
  /// A member of this line, or a refusal that names it.
  const json& need(const json& object, const char* key) const;
  std::string need_text(const json& object, const char* key) const;
  std::size_t need_count(const json& object, const char* key) const;
  double need_time(const json& object, const char* key) const;

  void read_line(const std::string& line);
  void begin(const json& header);
  void begin_samples(const json& header);
  void begin_bench(const json& header);
  void begin_run(const json& header);
  void take_build(const json& env, const testbed& bed);
  /// Where in the set a launch of this file is.
  [[nodiscard]] int place_of(std::size_t launch) const;
  void read_samples_line(const json& line);
  void read_point(const json& line);
  [[nodiscard]] bool announces_shape_of(const json& point) const;
  void read_case(const json& line);
  void end_file();
  void add(const std::string& id, int launch, double time_us, bool marked);
  sample_series& series_of(const std::string& id);

  sample_set set_;
  std::unordered_map<std::string, std::size_t> places_;
  bool has_build_ = false;
  file_kind all_ = file_kind::none;

  // Of the file that is being read.
  std::string file_;
  std::size_t line_number_ = 0;
  file_kind kind_ = file_kind::none;
  int first_launch_ = 0;
  std::size_t samples_ = 0;
  std::size_t failed_ = 0;
  std::vector<bool> seen_;  ///< launches that have a sample or failed
  std::size_t due_ = 0;     ///< points of a bench, cases of a run
  bool ended_ = false;
  std::string scratch_;
  json options_;  ///< of a bench
};

}  // namespace switchyard::harness::gate
