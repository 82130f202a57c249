// SPDX-License-Identifier: Apache-2.0
// Reads the file of model profiles.
#include "switchyard/harness/model_profile.hpp"

#include "field_reading.hpp"

namespace switchyard::harness {
namespace {

field_value read_value(const json_at& profile, std::string_view field) {
  return read_field(*find_field(field), member(profile, field)).value;
}

std::int64_t read_integer(const json_at& profile, std::string_view field) {
  return std::get<std::int64_t>(read_value(profile, field));
}

std::string read_choice(const json_at& profile, std::string_view field) {
  return std::get<std::string>(read_value(profile, field));
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
  for (const auto& [name, profile] : result) {
    if (profile.top_k > profile.num_experts) {
      refuse(profiles.place.child(name).child("top_k"), std::to_string(profile.top_k),
             "must be at most num_experts (" + std::to_string(profile.num_experts) + ")", rule_kind::relation);
    }
  }
  return result;
}

model_profiles read_profiles_file(const std::filesystem::path& path) {
  return parse_profiles(read_text_file(path), path.string());
}

}  // namespace switchyard::harness
