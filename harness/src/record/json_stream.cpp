// SPDX-License-Identifier: Apache-2.0
// Notes of a run in a stream of JSON are errors: a run that goes well has none.
#include "switchyard/harness/json_stream.hpp"

#include <nlohmann/json.hpp>

#include "switchyard/harness/printable.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {

void json_stream::note(const std::string& text) {
  const auto shown = printable(text);
  line(record_line(error_json(shown, std::nullopt)));  // the summary that follows has the exit code
  people_ << "switchyard: " << shown << std::endl;
}

}  // namespace switchyard::harness
