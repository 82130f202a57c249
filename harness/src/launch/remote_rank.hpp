// SPDX-License-Identifier: Apache-2.0
// The process of a rank that an agent starts and ends for the supervisor, who speaks to it through the agent.
//
//   supervisor -> agent
//     start, kill    life: which of its processes, counted by the supervisor
//     pass           life, message: for the process
//     finish         no more processes: the agent ends
//   agent -> supervisor
//     join           place (launched_process), identity, host. First of all; answered by welcome or turned_away
//     pass           life, message: from the process
//     ended          life, how, words: what it printed last
//     stopped        life, is: it does not run, or does again
#pragma once

#include <memory>
#include <string>

#include "control_channel.hpp"
#include "rank_link.hpp"

namespace switchyard::harness {

class remote_rank final : public rank_link {
 public:
  explicit remote_rank(std::unique_ptr<control_channel> agent) : agent_(std::move(agent)) {}
  /// Tells the agent to end.
  ~remote_rank() override;

  void start() override;
  [[nodiscard]] bool lives() const override { return started_ && end_.empty(); }
  [[nodiscard]] const std::string& end() const override { return end_; }
  [[nodiscard]] bool is_stopped() const override { return lives() && stopped_; }
  [[nodiscard]] std::string last_words() const override { return words_; }

  [[nodiscard]] std::vector<int> descriptors() const override;
  std::vector<nlohmann::json> look() override;
  void send(const nlohmann::json& message) override;
  void doom() override;
  /// Where the agent does not answer, it is given up together with its process.
  void kill(std::chrono::steady_clock::time_point limit) override;

 private:
  void tell(const nlohmann::json& message);
  void lose(const std::string& why);

  std::unique_ptr<control_channel> agent_;  // null: lost
  std::uint64_t life_ = 0;
  bool started_ = false;
  bool stopped_ = false;
  std::string end_;
  std::string words_;
};

}  // namespace switchyard::harness
