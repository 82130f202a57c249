// SPDX-License-Identifier: Apache-2.0
// Reads the file of model profiles.
#include "switchyard/harness/model_profile.hpp"

#include "json_members.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

std::int64_t read_integer(const json_at& profile, std::string_view field) {
  const auto at = member(profile, field);
  const auto& rule = *find_field(field);
  const bool fits =
      at.value.is_number_unsigned() && at.value.get<std::uint64_t>() <= static_cast<std::uint64_t>(rule.max);
  if (!fits || !obeys(rule, at.value.get<std::int64_t>())) refuse(at, describe(rule));
  return at.value.get<std::int64_t>();
}

std::string read_choice(const json_at& profile, std::string_view field) {
  const auto at = member(profile, field);
  const auto& rule = *find_field(field);
  if (!at.value.is_string() || !obeys(rule, at.value.get<std::string>())) refuse(at, describe(rule));
  return at.value.get<std::string>();
}

model_profile read_profile(const json_at& at) {
  require_object(at);
  require_known(at, {"hidden_size", "top_k", "num_experts", "dtype", "dispatch_format"});
  model_profile profile;
  profile.hidden_size = read_integer(at, "hidden_size");
  profile.top_k = read_integer(at, "top_k");
  profile.num_experts = read_integer(at, "num_experts");
  profile.dtype = dtype_from_string(read_choice(at, "dtype")).value();
  profile.dispatch_format = dispatch_format_from_string(read_choice(at, "dispatch_format")).value();
  if (profile.top_k > profile.num_experts) {
    refuse(member(at, "top_k"), "must be at most num_experts (" + std::to_string(profile.num_experts) + ")");
  }
  return profile;
}

}  // namespace

model_profiles parse_profiles(std::string_view text, const std::string& file) {
  const auto document = parse_json_text(text, file);
  const json_at root{document, {file, ""}};
  require_object(root);
  require_known(root, {"description", "profiles"});
  read_sentence(member(root, "description"));
  const auto profiles = member(root, "profiles");
  require_object(profiles);
  model_profiles result;
  for (const auto& [name, value] : profiles.value.items()) {
    const json_at at{value, profiles.place.child(name)};
    const nlohmann::json key = name;
    read_word({key, at.place});
    result.emplace(name, read_profile(at));
  }
  return result;
}

model_profiles read_profiles_file(const std::filesystem::path& path) {
  return parse_profiles(read_text_file(path), path.string());
}

}  // namespace switchyard::harness
