// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/selftest.hpp"

#include <cmath>
#include <random>

#include "sample_files.hpp"
#include "switchyard/harness/gate/noise.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

/// Twenty launches of so many scenarios, each with a spread of its own: of a hundredth of a percent up to `most`.
sample_set made_up(std::size_t scenarios, double most_percent) {
  sample_set set;
  set.source = "made up";
  std::mt19937_64 draw(5);
  for (std::size_t i = 0; i < scenarios; ++i) {
    sample_series one;
    one.id = "bench/x@tokens=" + std::to_string(1000 + i);
    const double spread = most_percent / 100 * static_cast<double>(i + 1) / static_cast<double>(scenarios);
    for (int launch = 0; launch < 20; ++launch) {
      double sum = 0;  // of twelve evenly drawn: near enough a normal distribution
      for (int k = 0; k < 12; ++k) sum += static_cast<double>(draw() % 1'000'000) / 1e6 - 0.5;
      one.time_us.push_back((20 + static_cast<double>(i)) * (1 + spread * sum));
      one.launches.push_back(launch);
    }
    set.noise_us[one.id] = noise_of_launches(one.time_us).noise_us;
    set.series.push_back(one);
  }
  set.launches = 20;
  return set;
}

TEST(selftest, finds_six_percent_and_raises_few_alarms) {
  const gate_rules rules;
  selftest_options options;
  options.trials = 100;
  const auto rates = self_test(made_up(40, 4), rules, options);
  EXPECT_EQ(rates.scenarios, 40U);
  EXPECT_EQ(rates.launches, 10U);
  EXPECT_EQ(rates.slowed, 4000U);
  EXPECT_EQ(rates.unchanged, 4000U);
  EXPECT_GE(rates.detection(), 0.95) << selftest_text(rates, rules, options);
  EXPECT_LE(rates.alarm_rate(), 0.02);
  EXPECT_NE(selftest_text(rates, rules, options).find("40 scenarios, 10 launches a side, 100 trials\n"),
            std::string::npos);
}

TEST(selftest, a_slowdown_within_the_floor_is_not_found) {
  selftest_options options;
  options.trials = 10;
  options.slower_percent = 1;
  options.times_noise = 0;
  const auto rates = self_test(made_up(10, 0.5), {}, options);
  EXPECT_EQ(rates.flagged, 0U);
  EXPECT_EQ(rates.detection(), 0);
}

TEST(selftest, samples_that_cannot_tell_are_refused) {
  auto few = made_up(3, 1);
  for (auto& one : few.series) one.time_us.resize(15);
  EXPECT_THROW((void)self_test(few, {}, {}), input_error);
  auto without_noise = made_up(3, 1);
  without_noise.noise_us.clear();
  EXPECT_THROW((void)self_test(without_noise, {}, {}), input_error);
  auto one_without = made_up(3, 1);
  one_without.noise_us.erase(one_without.noise_us.begin());
  selftest_options options;
  options.trials = 2;
  EXPECT_EQ(self_test(one_without, {}, options).left_out, 1U);
}

}  // namespace
}  // namespace switchyard::harness::gate
