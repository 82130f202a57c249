// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON text.
#include "json_text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

#include "../record/utf8.hpp"

namespace switchyard::harness {
namespace {

std::string line_and_column(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  const auto column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string column(std::string_view, std::size_t byte) { return "column " + std::to_string(byte + 1); }

using byte_namer = std::string (*)(std::string_view text, std::size_t byte);

void require_utf8(std::string_view text, const std::string& file, byte_namer name_of) {
  for (std::size_t at = 0; at < text.size();) {
    const auto found = first_character(text.substr(at));
    if (!found.code) refuse({file, ""}, "", name_of(text, at) + ": not UTF-8");
    at += found.bytes;
  }
}

/// Follows the parser to know where it is and which keys it has seen: nlohmann keeps the last of duplicate keys in
/// silence, and a scenario that says two things must be refused.
class duplicate_key_guard {
 public:
  explicit duplicate_key_guard(std::string file) : file_(std::move(file)) {}

  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using event_t = nlohmann::json::parse_event_t;
    switch (event) {
      case event_t::object_start: open({}); break;
      case event_t::array_start: open({{}, {}, std::size_t{0}}); break;
      case event_t::key: enter(parsed.get<std::string>()); break;
      case event_t::object_end:
      case event_t::array_end:
        frames_.pop_back();
        next();
        break;
      case event_t::value: next(); break;
    }
    return true;
  }

  /// The value that is read now.
  [[nodiscard]] input_place here() const {
    input_place place{file_, ""};
    for (const auto& outer : frames_) place = outer.index ? place.child(*outer.index) : place.child(outer.key);
    return place;
  }

 private:
  struct frame {
    std::set<std::string> keys;
    std::string key;
    std::optional<std::size_t> index;  // of an array
  };

  // What reads the value later is recursive; no file of ours is nested more than a few levels.
  void open(frame inner) {
    constexpr std::size_t max_depth = 64;
    if (frames_.size() == max_depth) {
      refuse(here(), "", "must not be nested more than " + std::to_string(max_depth) + " levels");
    }
    frames_.push_back(std::move(inner));
  }

  void next() {
    if (!frames_.empty() && frames_.back().index) ++*frames_.back().index;
  }

  void enter(std::string key) {
    auto& top = frames_.back();
    const bool is_new = top.keys.insert(key).second;
    top.key = std::move(key);
    if (!is_new) refuse(here(), "", "duplicate key", rule_kind::relation);
  }

  std::string file_;
  std::vector<frame> frames_;
};

nlohmann::json parse(std::string_view text, const std::string& file, byte_namer name_of) {
  require_utf8(text, file, name_of);
  duplicate_key_guard guard(file);
  try {
    // By reference: the parser copies what it calls, and the guard's place is asked for below.
    return nlohmann::json::parse(text, [&guard](int depth, nlohmann::json::parse_event_t event,
                                                nlohmann::json& parsed) { return guard(depth, event, parsed); });
  } catch (const nlohmann::json::parse_error& error) {
    // Its own message is "[id] parse error at line .., column ..: what"; the last part is worth keeping.
    std::string what = error.what();
    const auto cut = what.find(": ");
    if (cut != std::string::npos) what.erase(0, cut + 2);
    constexpr std::size_t shown = 200;
    if (what.size() > shown) what.resize(shown);  // it quotes what it read last, which can be long
    const auto byte = error.byte == 0 ? 0 : error.byte - 1;
    refuse({file, ""}, "", name_of(text, byte) + ": not JSON: " + what);
  } catch (const nlohmann::json::out_of_range& error) {
    // "[id] number overflow parsing '1e400'": the number is what stands between the quotes.
    const std::string_view what = error.what();
    const auto first = std::min(what.find('\''), what.size());
    const auto last = what.rfind('\'');
    const auto number = last != std::string_view::npos && last > first ? what.substr(first + 1, last - first - 1) : "";
    refuse(guard.here(), number, "must be a number that a double can hold");
  } catch (const nlohmann::json::exception& error) {
    refuse({file, ""}, "", std::string("not JSON: ") + error.what());
  }
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const input_place place{path.string(), ""};
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) refuse(place, "", "no such file");
  if (!std::filesystem::is_regular_file(status)) refuse(place, "", "not a regular file");
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) refuse(place, "", failure.message());
  if (bytes > max_bytes) {
    refuse(place, std::to_string(bytes) + " bytes", "must be at most " + std::to_string(max_bytes));
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse(place, "", std::string("cannot be opened: ") + std::strerror(errno));
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) refuse(place, "", "cannot be read");
  return text;
}

nlohmann::json parse_json_text(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) refuse({file, ""}, "", "empty file");
  return parse(text, file, line_and_column);
}

nlohmann::json parse_json_line(std::string_view line, const std::string& place) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) refuse({place, ""}, "", "empty line");
  return parse(line, place, column);
}

std::string one_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace switchyard::harness
