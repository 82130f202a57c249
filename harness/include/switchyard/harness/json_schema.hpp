// SPDX-License-Identifier: Apache-2.0
// JSON Schemas (draft 2020-12) of the files in scenarios/, for editors and other programs. What they say of fields
// comes from field_rules(). The files in scenarios/schema/ are these texts; a test holds them equal, and another that
// schema and reader agree.
#pragma once

#include <map>
#include <string>

namespace switchyard::harness {

/// File name -> text: scenario.schema.json, profiles.schema.json, must_pass.schema.json.
std::map<std::string, std::string> json_schemas();

}  // namespace switchyard::harness
