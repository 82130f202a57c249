// SPDX-License-Identifier: Apache-2.0
// Shows a run while it goes on.
#include "switchyard/harness/progress.hpp"

#include <algorithm>

#include "switchyard/harness/printable.hpp"

namespace switchyard::harness {
namespace {

bool is_bad(case_status status) noexcept {
  return status != case_status::pass && status != case_status::skipped && status != case_status::waived;
}

std::string short_time(std::int64_t seconds) {
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
  return std::to_string(seconds / 3600) + " h " + std::to_string(seconds % 3600 / 60) + " min";
}

}  // namespace

void progress::begin(std::size_t total_cases) {
  total_ = total_cases;
  done_ = 0;
  done_before_ = 0;
  failures_ = 0;
  next_plain_line_ = 1;
  started_ = std::chrono::steady_clock::now();
}

std::string progress::done_text() const {
  auto text = std::to_string(done_) + "/" + std::to_string(total_);
  if (failures_ != 0) text += ", " + std::to_string(failures_) + " failed";
  return text;
}

/// The rest at the pace so far. Cases differ in size, so this is a guess; it is good enough to decide about a coffee.
std::string progress::remaining_text() const {
  const auto done_now = done_ - done_before_;
  if (done_now == 0 || done_ == total_) return {};
  const auto elapsed = std::chrono::steady_clock::now() - started_;
  const auto rest = elapsed * static_cast<std::int64_t>(total_ - done_) / static_cast<std::int64_t>(done_now);
  return ", about " + short_time(std::chrono::duration_cast<std::chrono::seconds>(rest).count() + 1) + " left";
}

void progress::show(const std::string& current) {
  if (options_.how != progress_options::style::terminal) return;
  std::string line = "[";
  line += done_text() + remaining_text() + "] " + current;
  if (line.size() >= options_.columns) line.resize(options_.columns > 0 ? options_.columns - 1 : 0);
  out_ << "\r\x1b[K" << line << std::flush;
  line_shown_ = true;
}

void progress::clear_line() {
  if (line_shown_) out_ << "\r\x1b[K";
  line_shown_ = false;
}

void progress::case_started(const case_spec& spec) { show(spec.id); }

void progress::case_ended(const case_spec& spec, const case_result& result, const case_record& record) {
  ++done_;
  if (record.from == case_record::origin::earlier_run) ++done_before_;
  if (result.status != case_status::pass) {
    if (is_bad(result.status)) ++failures_;
    clear_line();
    print_failure(spec, result);
  }
  if (options_.how == progress_options::style::plain && (done_ >= next_plain_line_ || done_ == total_)) {
    out_ << "[" << done_text() << remaining_text() << "] " << spec.id << ' ' << to_string(result.status) << std::endl;
    constexpr std::size_t lines = 20;  // one per 5 %, or one per case of a short run
    next_plain_line_ = done_ + std::max<std::size_t>(1, total_ / lines);
  }
}

void progress::print_failure(const case_spec& spec, const case_result& result) {
  out_ << to_string(result.status) << ' ' << spec.id;
  if (!result.reason.empty()) out_ << ": " << printable(result.reason);
  out_ << '\n';
  for (const auto& found : result.findings) out_ << "  " << printable(describe(found)) << '\n';
  if (result.total_findings > result.findings.size()) {
    out_ << "  and " << result.total_findings - result.findings.size() << " findings more\n";
  }
  for (const auto& fault : result.faults) out_ << "  rank " << fault.rank << ": " << printable(fault.message) << '\n';
  if (is_bad(result.status)) {
    out_ << "  repeat: " << options_.repeat_command << " --case " << spec.id << " --seed " << options_.seed << '\n';
  }
  out_ << std::flush;
}

void progress::note(const std::string& line) {
  clear_line();
  out_ << printable(line) << std::endl;
}

void progress::end() {
  clear_line();
  out_ << std::flush;
}

}  // namespace switchyard::harness
