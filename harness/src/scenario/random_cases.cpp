// SPDX-License-Identifier: Apache-2.0
// Draws whole cases: sizes first (random_shape.hpp), then what happens inside of them.
#include "switchyard/harness/random_cases.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "random_shape.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness {
namespace {

constexpr std::int64_t last_epoch = 0xFFFFFFFF;

class case_drawer {
 public:
  case_drawer(std::uint64_t seed, std::uint64_t number, const random_limits& limits)
      : limits_(limits), random_(key_of({seed, number, 0x72616E646F6DULL})), shape_(draw_shape(random_, limits)) {}

  field_settings draw() {
    set_shape();
    draw_tokens();
    draw_payloads();
    draw_run();
    if (shape_.fault_due) draw_absence();
    return std::move(settings_);
  }

 private:
  void set(std::string_view field, field_value value) {
    settings_.emplace(field, field_setting{std::move(value), {"draw", "@" + std::string(field)}});
  }
  void set_word(std::string_view field, std::string_view word) { set(field, std::string(word)); }

  void set_shape() {
    set("ranks", shape_.ranks);
    set("num_experts", shape_.experts);
    set("top_k", shape_.top_k);
    set("hidden_size", shape_.hidden_size);
    if (shape_.dtype != dtype::bf16 || random_.chance(1, 4)) set_word("dtype", to_string(shape_.dtype));
    if (shape_.dispatch_format) set_word("dispatch_format", to_string(*shape_.dispatch_format));
    if (shape_.extra_bytes > 0 || random_.chance(1, 8)) set("extra_bytes", shape_.extra_bytes);
    set("steps", shape_.steps);
  }

  // tokens <= runtime_max_tokens <= max_tokens_per_rank <= capacity, where each may be left to follow the one before.
  void draw_tokens() {
    const auto capacity = shape_.capacity;
    const auto tokens = random_.number(0, capacity, {0, 1, capacity - 1, capacity, capacity});
    set("tokens", tokens);
    auto rows = std::max<std::int64_t>(1, tokens);
    if (random_.chance(1, 3)) {
      rows = random_.number(rows, capacity, {rows, rows + 1, capacity});
      set("runtime_max_tokens", rows);
    }
    if (random_.chance(1, 2)) set("max_tokens_per_rank", random_.number(rows, capacity, {rows, rows + 1, capacity}));
    if (random_.chance(1, 2))
      set_word("variation", to_string(random_.chance(3, 4) ? step_variation::vary : step_variation::fixed));
  }

  void draw_payloads() {
    if (random_.chance(1, 3)) set("topk_weights", random_.chance(1, 4));
    if (random_.chance(1, 3))
      set_word("routing", to_string(random_.chance(2, 3) ? routing_law::balanced : routing_law::uniform));
    if (random_.chance(1, 3)) set("invalid_percent", random_.number(0, 100, {0, 1, 50, 99, 100}));
  }

  void draw_run() {
    if (random_.chance(2, 3)) set("blocks", random_.number(1, 8, {1, 2, 3}));
    if (shape_.workers > 1 || random_.chance(1, 4)) set("workers", shape_.workers);
    if (random_.chance(1, 2)) {
      set("first_epoch", random_.number(1, (std::int64_t{1} << 31) - 1, {1, 2}));
      // The end of the range is out of reach of number(): that is where the epoch wraps, and its sign bit turns.
      if (random_.chance(1, 2)) {
        const auto phases = 2 * shape_.steps;
        const std::array ends{last_epoch,          last_epoch - 1, last_epoch - 4,
                              last_epoch - phases, last_epoch / 2, last_epoch / 2 - phases / 2};
        settings_.erase("first_epoch");
        set("first_epoch", random_.one_of(ends));
      }
    }
    if (!shape_.fault_due && random_.chance(1, 4)) {
      constexpr std::array<std::int64_t, 3> patient_ms{10'000, 20'000, 60'000};  // a busy machine must not cause faults
      set("timeout_ms", random_.one_of(patient_ms));
    }
    if (random_.chance(1, 4)) {
      const auto share =
          std::clamp<std::int64_t>(20 * limits_.max_late_us / (2 * shape_.steps), 1, limits_.max_late_us);
      set("late_us", random_.number(0, share, {0, 1, share}));
    }
  }

  void draw_absence() {
    set("absent.rank", random_.number(0, shape_.ranks - 1, {0, shape_.ranks - 1}));
    if (random_.chance(2, 3)) set("absent.step", random_.number(0, shape_.steps - 1, {0, 1, shape_.steps - 1}));
    if (random_.chance(2, 3))
      set_word("absent.phase", to_string(random_.chance(2, 3) ? phase::combine : phase::dispatch));
    set_word("expected_fault", to_string(fault_code::timeout));
    // Short, because the case waits for all of it; long enough for threads of a busy machine to be run in between.
    constexpr std::array<std::int64_t, 3> short_ms{500, 600, 800};
    set("timeout_ms", random_.one_of(short_ms));
  }

  const random_limits& limits_;
  corner_random random_;
  random_shape shape_;
  field_settings settings_;
};

}  // namespace

suite random_suite() {
  const std::string name(random_suite_name);
  scenario drawn;
  drawn.name = random_scenario_name;
  drawn.sentence = "Whatever its case id says.";
  drawn.tags = {"random"};
  drawn.place = {"case id", ""};
  return {name, "Drawn cases: a case id sets every field.", name, {std::move(drawn)}};
}

field_settings draw_settings(std::uint64_t seed, std::uint64_t number, const random_limits& limits) {
  return case_drawer(seed, number, limits).draw();
}

case_spec random_case_of(const field_settings& settings) {
  case_address address{std::string(random_suite_name), std::string(random_scenario_name), {}};
  for (const auto& [field, setting] : settings) address.settings.emplace_back(field, to_text(setting.value));
  return expand_one(random_suite(), address, {});
}

case_spec draw_case(std::uint64_t seed, std::uint64_t number, const random_limits& limits) {
  return random_case_of(draw_settings(seed, number, limits));
}

std::vector<case_spec> draw_cases(std::uint64_t seed, std::uint64_t count, const random_limits& limits) {
  std::vector<case_spec> cases;
  for (std::uint64_t number = 0; number < count; ++number) cases.push_back(draw_case(seed, number, limits));
  return cases;
}

}  // namespace switchyard::harness
