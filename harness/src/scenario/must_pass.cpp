// SPDX-License-Identifier: Apache-2.0
// Must-pass lists: reading and judging.
#include "switchyard/harness/must_pass.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "json_members.hpp"

namespace switchyard::harness {

must_pass_list parse_must_pass(std::string_view text, const std::string& file) {
  const auto document = parse_json_text(text, file);
  const json_at root{document, {file, ""}};
  require_object(root);
  require_known(root, {"must_pass", "description", "cases"});
  must_pass_list list;
  list.file = file;
  list.name = read_word(member(root, "must_pass"));
  list.description = read_sentence(member(root, "description"));
  const auto cases = member(root, "cases");
  require_array(cases);
  if (cases.value.empty()) refuse(cases, "must have at least one case");
  for (auto& pattern : read_distinct(cases, read_sentence)) {
    list.entries.push_back({std::move(pattern), cases.place.child(list.entries.size())});
  }
  const auto stem = std::filesystem::path(file).stem().string();
  if (list.name != stem) {
    refuse(member(root, "must_pass"), "must be the file's name without .json: " + stem, rule_kind::relation);
  }
  return list;
}

must_pass_list read_must_pass_file(const std::filesystem::path& path) {
  return parse_must_pass(read_text_file(path), path.string());
}

must_pass_list load_must_pass(const std::filesystem::path& scenarios, const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) {
    return read_must_pass_file(name_or_path);
  }
  return read_must_pass_file(scenarios / "must_pass" / (name_or_path + ".json"));
}

std::vector<must_pass_shortfall> judge_must_pass(const must_pass_list& list, const must_pass_evidence& evidence) {
  std::vector<must_pass_shortfall> wrong;
  for (const auto& entry : list.entries) {
    bool any = false;
    for (const auto& id : evidence.selected) {
      if (::fnmatch(entry.pattern.c_str(), id.c_str(), 0) != 0) continue;
      any = true;
      if (std::find(evidence.due.begin(), evidence.due.end(), id) == evidence.due.end()) continue;
      const auto found = evidence.statuses.find(id);
      const auto status = found == evidence.statuses.end() ? case_status::missing : found->second;
      if (status != case_status::pass) wrong.push_back({entry.pattern, id, status});
    }
    if (!any) wrong.push_back({entry.pattern, "", case_status::missing});
  }
  return wrong;
}

std::string describe(const must_pass_list& list, const must_pass_shortfall& shortfall) {
  const auto begin = "must pass (" + list.name + "): ";
  if (shortfall.case_id.empty()) return begin + shortfall.entry + ": matches no case of this run";
  return begin + shortfall.case_id + ": " + std::string(to_string(shortfall.status));
}

}  // namespace switchyard::harness
