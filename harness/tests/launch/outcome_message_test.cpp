// SPDX-License-Identifier: Apache-2.0
// Everything that a rank has found reaches its supervisor.
#include "outcome_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "channel_ends.hpp"

namespace switchyard::harness {
namespace {

constexpr int told_steps = 3;

// These name every member: one that is new is a compile error here, then one that still has its default value, and
// then, where it does not travel, a difference.
auto members_of(const rank_outcome& outcome) {
  const auto& [log, fault, steps_before_fault, arrivals_ns, error, unsupported, times, steps_ended, refused_steps,
               checked_bytes, results_digest, low_precision_error, transport, position, done] = outcome;
  static_cast<void>(done);  // the supervisor's own: that there is a message
  return std::tie(log, fault, steps_before_fault, arrivals_ns, error, unsupported, times, steps_ended, refused_steps,
                  checked_bytes, results_digest, low_precision_error, transport, position);
}

auto members_of(const finding& found) {
  const auto& [kind, step, source, destination, token, row, buffer, byte, expected, actual, count, detail] = found;
  return std::tie(kind, step, source, destination, token, row, buffer, byte, expected, actual, count, detail);
}

template <typename Value>
bool is_same(const Value& one, const Value& other) {
  if constexpr (std::equality_comparable<Value>) {
    return one == other;
  } else {  // as it travels
    static_assert(std::is_trivially_copyable_v<Value>);
    return std::ranges::equal(std::as_bytes(std::span(&one, 1)), std::as_bytes(std::span(&other, 1)));
  }
}
bool is_same(const std::atomic<int>& one, const std::atomic<int>& other) { return one.load() == other.load(); }
bool is_same(const std::optional<recorded_fault>& one, const std::optional<recorded_fault>& other) {
  return one.has_value() == other.has_value() && (!one || is_same(*one, *other));
}
bool is_same(const std::vector<step_time>& one, const std::vector<step_time>& other) {
  return std::ranges::equal(one, other, [](const auto& left, const auto& right) { return is_same(left, right); });
}
bool is_same(const finding& one, const finding& other) { return members_of(one) == members_of(other); }
bool is_same(const finding_log& one, const finding_log& other) {
  return one.total() == other.total() &&
         std::ranges::equal(one.kept(), other.kept(),
                            [](const auto& left, const auto& right) { return is_same(left, right); });
}

/// The places of those members of which `is_same` says `answer`.
template <typename Members, std::size_t... Places>
std::vector<std::size_t> places_where(bool answer, const Members& one, const Members& other,
                                      std::index_sequence<Places...>) {
  std::vector<std::size_t> found;
  ((is_same(std::get<Places>(one), std::get<Places>(other)) == answer ? found.push_back(Places) : void()), ...);
  return found;
}
template <typename Whole>
std::vector<std::size_t> members_that_are(bool same, const Whole& one, const Whole& other) {
  using members = decltype(members_of(one));
  return places_where(same, members_of(one), members_of(other), std::make_index_sequence<std::tuple_size_v<members>>());
}
constexpr bool equal = true;
constexpr bool different = false;
using no_members = std::vector<std::size_t>;

/// No byte as it was made; for what travels as bytes.
template <typename Plain>
void fill(Plain& plain) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  std::memset(static_cast<void*>(&plain), 0x5A, sizeof plain);
}

finding full_finding(int number) {
  return {.verdict = verdict::wrong_sum,
          .step = number,
          .source = 1,
          .destination = 2,
          .token = std::int64_t{1} << 40,
          .row = 4,
          .buffer = "output",
          .byte = 5,
          .expected = ~std::uint64_t{0},
          .actual = std::uint64_t{1} << 63,
          .count = 6,
          .detail = "row of \"token\" 7"};
}

void make(rank_outcome& outcome) { outcome.times.resize(told_steps); }

void make_full(rank_outcome& outcome) {
  make(outcome);
  outcome.log.add(full_finding(0));
  outcome.log.add(full_finding(1));
  fill(outcome.fault.emplace());
  outcome.steps_before_fault = 2;
  outcome.arrivals_ns = {{1, not_arrived}, {most_arrival_ns, 0}};
  outcome.error = "an exception";
  outcome.unsupported = true;
  for (auto& time : outcome.times) fill(time);
  outcome.steps_ended = 3;
  outcome.refused_steps = 4;
  outcome.checked_bytes = ~std::uint64_t{0} - 1;
  outcome.results_digest = std::uint64_t{1} << 63;
  fill(outcome.low_precision_error);
  outcome.transport = "fence+lamport";
  outcome.position = 7;
}

/// There and back as messages are, in CBOR.
void travel(const rank_outcome& from, rank_outcome& to) {
  read_outcome(nlohmann::json::from_cbor(nlohmann::json::to_cbor(outcome_json(from))), to);
}

TEST(outcome_message, every_member_travels) {
  rank_outcome sent;
  make_full(sent);
  rank_outcome received;
  make(received);
  EXPECT_EQ(members_that_are(equal, sent, received), no_members()) << "these have no value of their own";
  travel(sent, received);
  EXPECT_EQ(members_that_are(different, sent, received), no_members()) << "these do not travel";
  EXPECT_FALSE(received.done);
}

TEST(outcome_message, every_member_of_a_finding_travels) {
  EXPECT_EQ(members_that_are(equal, full_finding(0), finding()), no_members());
  rank_outcome sent;
  make(sent);
  sent.log.add(full_finding(0));
  rank_outcome received;
  make(received);
  travel(sent, received);
  ASSERT_EQ(received.log.kept().size(), 1U);
  EXPECT_EQ(members_that_are(different, sent.log.kept()[0], received.log.kept()[0]), no_members());
}

TEST(outcome_message, one_that_has_found_nothing_travels) {
  rank_outcome sent;
  make(sent);
  rank_outcome received;
  make(received);
  received.position = 5;  // as a beat has left it
  travel(sent, received);
  EXPECT_EQ(members_that_are(different, sent, received), no_members());
  EXPECT_FALSE(received.fault);
  EXPECT_FALSE(received.steps_before_fault);
}

TEST(outcome_message, findings_that_are_not_kept_are_counted) {
  rank_outcome sent;
  make(sent);
  constexpr int more_than_kept = static_cast<int>(max_findings) + 5;
  for (int number = 0; number < more_than_kept; ++number) sent.log.add(full_finding(number));
  sent.log.count_only(1000);
  rank_outcome received;
  make(received);
  travel(sent, received);
  ASSERT_EQ(received.log.kept().size(), max_findings);
  EXPECT_EQ(received.log.kept().back().step, static_cast<int>(max_findings) - 1);
  EXPECT_EQ(received.log.total(), more_than_kept + 1000U);
}

TEST(outcome_message, a_fault_has_its_lanes_and_sets) {
  rank_outcome sent;
  make(sent);
  auto& fault = sent.fault.emplace();
  fault.code = fault_code::timeout;
  fault.phase = phase::combine;
  fault.rank = 70;
  insert(fault.missing, 70);
  insert(fault.only_expected, 255);
  fault.arrival_ns.fill(not_arrived);
  fault.arrival_ns[255] = 12'345;
  rank_outcome received;
  make(received);
  travel(sent, received);
  ASSERT_TRUE(received.fault);
  EXPECT_EQ(describe(*received.fault), describe(fault));
  EXPECT_EQ(received.fault->arrival_ns, fault.arrival_ns);
  EXPECT_TRUE(contains(received.fault->missing, 70));
  EXPECT_TRUE(contains(received.fault->only_expected, 255));
}

TEST(outcome_message, errors_of_low_precision_have_the_same_figures) {
  rank_outcome sent;
  make(sent);
  const std::array<float, 4> sums{1, 2, 3, 4};
  const std::array<float, 4> results{1, 2, 3.5F, 4};
  const std::array rows{reinterpret_cast<const std::byte*>(sums.data())};
  sent.low_precision_error.add_token(rows, sums.size(), dtype::fp32,
                                     reinterpret_cast<const std::byte*>(results.data()));
  EXPECT_GT(sent.low_precision_error.figures().max_relative, 0);
  rank_outcome received;
  make(received);
  travel(sent, received);
  EXPECT_EQ(received.low_precision_error.figures(), sent.low_precision_error.figures());
}

TEST(outcome_message, of_another_number_of_steps_is_refused) {
  rank_outcome sent;
  make_full(sent);
  const auto message = outcome_json(sent);
  for (const int steps : {0, told_steps - 1, told_steps + 1}) {
    rank_outcome received;
    received.times.resize(static_cast<std::size_t>(steps));
    EXPECT_EQ(thrown_by<std::runtime_error>([&] { read_outcome(message, received); }),
              "an outcome is of another number of steps");
  }
}

TEST(outcome_message, bytes_of_another_size_are_refused) {
  rank_outcome sent;
  make_full(sent);
  const auto message = outcome_json(sent);
  for (const auto* member : {"fault", "times", "low_precision_error"}) {
    for (const int change : {-1, 1}) {
      auto changed = message;
      auto& bytes = changed.at(member).get_binary();
      bytes.resize(bytes.size() + static_cast<std::size_t>(change));
      rank_outcome received;
      make(received);
      EXPECT_EQ(thrown_by<std::runtime_error>([&] { read_outcome(changed, received); }),
                "an outcome is of another build")
          << member;
    }
  }
}

TEST(outcome_message, a_member_that_is_missing_or_of_another_type_is_refused) {
  rank_outcome sent;
  make_full(sent);
  const auto message = outcome_json(sent);
  for (const auto& [key, value] : message.items()) {
    auto lacking = message;
    lacking.erase(key);
    rank_outcome received;
    make(received);
    EXPECT_THROW(read_outcome(lacking, received), nlohmann::json::exception) << key;
    auto changed = message;
    changed[key] = nlohmann::json{{"an", "object"}};
    rank_outcome other;
    make(other);
    EXPECT_THROW(read_outcome(changed, other), nlohmann::json::exception) << key;
  }
}

TEST(outcome_message, traffic_travels) {
  const std::vector<step_traffic> sent{{1, 2, 3}, {~std::uint64_t{0}, 5, 6}};
  const auto received = read_traffic(nlohmann::json::from_cbor(nlohmann::json::to_cbor(traffic_json(sent))));
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[0].returned_bytes, 2U);
  EXPECT_EQ(received[1].remote_bytes, ~std::uint64_t{0});
  EXPECT_EQ(received[1].max_rank_bytes, 6U);
  EXPECT_TRUE(read_traffic(traffic_json({})).empty());
  EXPECT_THROW(read_traffic(nlohmann::json::binary({1, 2, 3})), std::runtime_error);
}

}  // namespace
}  // namespace switchyard::harness
