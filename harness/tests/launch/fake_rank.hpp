// SPDX-License-Identifier: Apache-2.0
// Ranks without processes: what they do when they are started, told something or killed is the test's to say. All of it
// happens in the supervisor's calls, so nothing depends on time.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "control_channel.hpp"
#include "rank_link.hpp"
#include "rank_messages.hpp"
#include "switchyard/harness/supervisor.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard::harness {

/// One rank's process, all of its lives. The test keeps it beside the supervisor.
class fake_process {
 public:
  using json = nlohmann::json;

  fake_process(const std::vector<case_spec>& cases, int rank)
      : cases_(cases), rank_(rank), bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  // What it does. Serves cases that pass, unless the test says otherwise.
  std::function<void(fake_process&)> when_started = [](fake_process& process) { process.say_hello(); };
  std::function<void(fake_process&, const json&)> when_told = [](fake_process& process, const json& order) {
    process.serve(order);
  };

  void say(const json& message) {
    said_.push_back(message);
    ring();
  }
  void die(const std::string& how, const std::string& words = {}) {
    lives_ = false;
    end_ = how;
    words_ = words;
    ring();
  }
  void be_stopped() { stopped_ = true; }

  void say_hello(const json& identity = json{{"commit", "a"}, {"seed", 1}}) {
    say({{"is", say::hello},
         {"rank", rank_},
         {"identity", identity},
         {"as_seen", {{"rank", rank_}, {"life", starts}}}});
  }

  /// As a rank that finds nothing.
  void serve(const json& order) {
    const auto is = order.at("is").get<std::string>();
    if (is == say::quit) {
      die("exited");
    } else if (is == say::run) {
      spec = &cases_.at(order.at("case").get<std::size_t>());
      say(rank_says::met(meeting_point::before_construction));
    } else if (is == say::go) {
      const auto where = static_cast<meeting_point>(order.at("where").get<int>());
      if (where == meeting_point::before_construction) say(rank_says::met(meeting_point::after_construction));
      if (where == meeting_point::after_construction) say(rank_says::met(meeting_point::after_steps));
      if (where == meeting_point::after_steps) say(rank_says::outcome(*spec));
    } else if (is == say::call_off) {
      say(rank_says::outcome(*spec, [](rank_outcome& found) { found.steps_ended = 0; }));
    }
  }

  /// Those of one kind that it was told, in all its lives.
  [[nodiscard]] std::vector<json> told_of(std::string_view is) const {
    std::vector<json> found;
    std::ranges::copy_if(told, std::back_inserter(found), [is](const json& order) { return order.at("is") == is; });
    return found;
  }

  const case_spec* spec = nullptr;  ///< that it was told to run last
  std::vector<json> told;
  int starts = 0;
  int kills = 0;

 private:
  friend class fake_link;
  void ring() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(bell_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  const std::vector<case_spec>& cases_;
  int rank_;
  unique_descriptor bell_;  // readable when there is something to hear
  std::vector<json> said_;
  bool lives_ = false;
  bool stopped_ = false;
  std::string end_;
  std::string words_;
};

class fake_link final : public rank_link {
 public:
  explicit fake_link(std::shared_ptr<fake_process> process) : process_(std::move(process)) {}

  void start() override {
    ++process_->starts;
    process_->said_.clear();
    process_->end_.clear();
    process_->words_.clear();
    process_->stopped_ = false;
    process_->lives_ = true;
    process_->when_started(*process_);
  }
  [[nodiscard]] bool lives() const override { return process_->lives_; }
  [[nodiscard]] const std::string& end() const override { return process_->end_; }
  [[nodiscard]] bool is_stopped() const override { return process_->lives_ && process_->stopped_; }
  [[nodiscard]] std::string last_words() const override { return process_->words_; }
  [[nodiscard]] std::vector<int> descriptors() const override { return {process_->bell_.get()}; }
  std::vector<nlohmann::json> look() override {
    std::uint64_t rung = 0;
    (void)!::read(process_->bell_.get(), &rung, sizeof rung);
    return std::exchange(process_->said_, {});
  }
  void send(const nlohmann::json& message) override {
    if (!process_->lives_) return;
    process_->told.push_back(message);
    process_->when_told(*process_, message);
  }
  void doom() override {}
  void kill(std::chrono::steady_clock::time_point) override {
    if (process_->lives_) ++process_->kills;
    process_->lives_ = false;
  }

 private:
  std::shared_ptr<fake_process> process_;
};

/// Some cases, and a group of fake processes for them.
struct fake_group {
  fake_group(std::vector<case_spec> which, int count) : cases(std::move(which)) {
    for (int rank = 0; rank < count; ++rank) processes.push_back(std::make_shared<fake_process>(cases, rank));
  }

  [[nodiscard]] fake_process& process(int rank) { return *processes.at(static_cast<std::size_t>(rank)); }

  /// To be called once.
  [[nodiscard]] supervisor& supervise(const std::function<void(supervisor_options&)>& change) {
    supervisor_options options{.cases = cases, .identity = {{"commit", "a"}, {"seed", 1}}};
    options.start_limit = std::chrono::seconds(20);
    change(options);
    std::vector<std::unique_ptr<rank_link>> links;
    for (const auto& each : processes) links.push_back(std::make_unique<fake_link>(each));
    supervising = std::make_unique<supervisor>(std::move(options), rank_links(std::move(links)));
    return *supervising;
  }
  [[nodiscard]] supervisor& supervise() {
    return supervise([](supervisor_options&) {});
  }

  std::vector<case_spec> cases;
  std::vector<std::shared_ptr<fake_process>> processes;
  std::unique_ptr<supervisor> supervising;
};

}  // namespace switchyard::harness
