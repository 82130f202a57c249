// SPDX-License-Identifier: Apache-2.0
// Writes the few elements of JUnit XML that every reader knows. No XML library: this much of XML is a page.
#include "switchyard/harness/junit.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "utf8.hpp"

namespace switchyard::harness {
namespace {

/// The Char production of XML 1.0, fifth edition.
bool is_xml_character(char32_t code) noexcept {
  return code == 0x9 || code == 0xA || code == 0xD || (code >= 0x20 && code <= 0xD7FF) ||
         (code >= 0xE000 && code <= 0xFFFD) || code >= 0x10000;
}

std::string seconds_text(std::chrono::nanoseconds elapsed) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count();
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(milliseconds / 1000),
                static_cast<long long>(milliseconds % 1000));
  return text.data();
}

std::string attribute(std::string_view name, std::string_view value) {
  return ' ' + std::string(name) + "=\"" + xml_escaped(value) + '"';
}

/// The element that says why a case did not pass; empty for one that did.
std::string_view outcome_element(case_status status) noexcept {
  switch (status) {
    case case_status::pass: return {};
    case case_status::fail:
    case case_status::timeout: return "failure";
    case case_status::crash:
    case case_status::device_lost:
    case case_status::missing: return "error";
    case case_status::skipped:
    case case_status::waived: return "skipped";
  }
  return "error";
}

template <class Cases>
std::string counts(const Cases& cases) {
  std::array<std::size_t, 3> number{};
  constexpr std::array<std::string_view, 3> element{"failure", "error", "skipped"};
  std::chrono::nanoseconds elapsed{0};
  for (const auto& one : cases) {
    const auto found = std::find(element.begin(), element.end(), outcome_element(one.status));
    if (found != element.end()) ++number[static_cast<std::size_t>(std::distance(element.begin(), found))];
    elapsed += one.elapsed;
  }
  return attribute("tests", std::to_string(cases.size())) + attribute("failures", std::to_string(number[0])) +
         attribute("errors", std::to_string(number[1])) + attribute("skipped", std::to_string(number[2])) +
         attribute("time", seconds_text(elapsed));
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto next = first_character(text);
    const auto code = next.code.value_or(U'\xFFFD');
    switch (code) {
      case U'&': out += "&amp;"; break;
      case U'<': out += "&lt;"; break;
      case U'>': out += "&gt;"; break;  // "]]>" may not stand in content
      case U'"': out += "&quot;"; break;
      case U'\t': out += "&#9;"; break;
      case U'\n': out += "&#10;"; break;
      case U'\r': out += "&#13;"; break;
      default:
        if (!next.code) {
          out += "\xEF\xBF\xBD";
        } else if (is_xml_character(code)) {
          out += text.substr(0, next.bytes);
        }
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

void junit_report::add(const case_spec& spec, testcase one) {
  const auto found = std::find_if(suites_.begin(), suites_.end(), [&](const testsuite& suite) {
    return suite.suite == spec.suite && suite.scenario == spec.name;
  });
  if (found != suites_.end()) return found->cases.push_back(std::move(one));
  suites_.push_back({spec.suite, spec.name, {std::move(one)}});
}

void junit_report::case_ended(const case_spec& spec, const case_result& result, const case_record& record) {
  if (record.from == case_record::origin::not_recorded) return;  // case_missing() follows
  testcase one{spec.id, result.status, result.reason, {}, record.elapsed};
  for (const auto& found : result.findings) one.details += describe(found) + '\n';
  if (result.total_findings > result.findings.size()) {
    one.details += "and " + std::to_string(result.total_findings - result.findings.size()) + " findings more\n";
  }
  for (const auto& fault : result.faults) {
    one.details += "rank " + std::to_string(fault.rank) + ": " + fault.message + '\n';
  }
  add(spec, std::move(one));
}

void junit_report::case_missing(const case_spec& spec) {
  add(spec, {spec.id, case_status::missing, "the run ended before this case had a record", {}, {}});
}

void junit_report::write(std::string& out, const testsuite& suite, const testcase& one) const {
  out += "    <testcase" + attribute("classname", suite.suite + '.' + suite.scenario) + attribute("name", one.id) +
         attribute("time", seconds_text(one.elapsed)) + ">\n";
  const auto element = std::string(outcome_element(one.status));
  if (!element.empty()) {
    out += "      <" + element;
    if (element != "skipped") out += attribute("type", to_string(one.status));
    // A waived case and a skipped one are the same element.
    const auto message = element == "skipped" ? std::string(to_string(one.status)) + ": " + one.reason : one.reason;
    out += attribute("message", message) + '>' + xml_escaped(one.details) + "</" + element + ">\n";
  }
  out += "      <system-out>" +
         xml_escaped("repeat: " + repeat_command_ + " --case " + one.id + " --seed " + std::to_string(seed_)) +
         "</system-out>\n    </testcase>\n";
}

std::string junit_report::text() const {
  std::vector<testcase> all;
  for (const auto& suite : suites_) all.insert(all.end(), suite.cases.begin(), suite.cases.end());
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", "switchyard") + counts(all) + ">\n";
  for (const auto& suite : suites_) {
    out += "  <testsuite" + attribute("name", suite.suite + '.' + suite.scenario) + counts(suite.cases) + ">\n";
    for (const auto& one : suite.cases) write(out, suite, one);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace switchyard::harness
