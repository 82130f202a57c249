// SPDX-License-Identifier: Apache-2.0
// Every verdict is provoked by an error planted in a running case, and both the printed line and the record say where.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "fabric/host/host_fabric.hpp"
#include "recorded_run.hpp"
#include "small_case.hpp"
#include "switchyard/harness/rank_inputs.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using layout::region;

constexpr int wrong_rank = 1;
constexpr int wrong_step = 2;
constexpr std::uint64_t seed = 1;

/// What the test knows of the step in which the error is planted, from the inputs alone.
class known_step {
 public:
  explicit known_step(const case_spec& spec) : inputs_(spec, memory_) { inputs_.generate(seed, wrong_step); }
  /// Row `row` of the extra payload as wrong_rank must hold it; the first rows are all of rank 0.
  [[nodiscard]] const std::byte* extra(std::int64_t row) const {
    return inputs_.row(payload_kind::extra, 0, token(row));
  }
  [[nodiscard]] std::int64_t token(std::int64_t row) const {
    return inputs_.golden(wrong_rank).source_tokens[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] std::int64_t count_from(int source) const {
    return inputs_.golden(wrong_rank).recv_counts[static_cast<std::size_t>(source)];
  }

 private:
  std::pmr::monotonic_buffer_resource memory_;  // buffers of inputs live as long as what they come from
  step_inputs inputs_;
};

constexpr std::size_t extra_bytes = 20;
using row_bytes = std::array<std::byte, extra_bytes>;

row_bytes copy_of(const std::byte* row) {
  row_bytes copy{};
  std::memcpy(copy.data(), row, copy.size());
  return copy;
}

/// An error and where it must be found.
struct planted {
  std::function<void(const protocol::dispatch_params&)> after_dispatch = {};
  std::function<void(const protocol::combine_params&)> after_combine = {};
  std::function<void(case_spec&)> shape = {};
  finding first = {};  ///< count and detail are not compared
};

/// Rows of the extra payload change nothing else, so that an error in them has one finding.
planted in_extra_row(verdict which, const known_step& known, const row_bytes& wrong,
                     std::function<void(std::byte* rows)> plant) {
  const auto right = copy_of(known.extra(0));
  std::size_t byte = 0;
  while (right[byte] == wrong[byte]) ++byte;
  planted error;
  error.after_dispatch = [plant = std::move(plant)](const protocol::dispatch_params& params) {
    plant(params.ws.local<std::byte>(params.ws.layout.offset_of(region::extra)));
  };
  error.first = {.verdict = which,
                 .step = wrong_step,
                 .source = 0,
                 .destination = wrong_rank,
                 .token = known.token(0),
                 .row = 0,
                 .buffer = "extra",
                 .byte = static_cast<std::int64_t>(byte),
                 .expected = std::to_integer<std::uint64_t>(right[byte]),
                 .actual = std::to_integer<std::uint64_t>(wrong[byte])};
  return error;
}

planted replaced_row(verdict which, const known_step& known, const row_bytes& wrong) {
  return in_extra_row(which, known, wrong, [wrong](std::byte* rows) { std::memcpy(rows, wrong.data(), wrong.size()); });
}

planted plant_loss(const case_spec&, const known_step& known) {
  row_bytes poison;
  poison.fill(poison_byte(wrong_step - 1));  // what a checker leaves in the views between steps
  return replaced_row(verdict::loss, known, poison);
}

planted plant_duplication(const case_spec&, const known_step& known) {
  return replaced_row(verdict::duplication, known, copy_of(known.extra(1)));
}

planted plant_misplacement(const case_spec&, const known_step& known) {
  return in_extra_row(verdict::misplacement, known, copy_of(known.extra(1)),
                      [](std::byte* rows) { std::swap_ranges(rows, rows + extra_bytes, rows + extra_bytes); });
}

planted plant_stale(const case_spec& spec, const known_step& known) {
  row_bytes old;
  step_generator(spec, seed, wrong_step - 1).fill_row(payload_kind::extra, 2, 4, old.data());
  return replaced_row(verdict::stale, known, old);
}

planted plant_corruption(const case_spec&, const known_step& known) {
  auto wrong = copy_of(known.extra(0));
  wrong[5] ^= std::byte{1};
  return replaced_row(verdict::corruption, known, wrong);
}

planted plant_overrun(const case_spec& spec, const known_step&) {
  constexpr std::size_t past = 9;
  planted error;
  error.after_dispatch = [](const protocol::dispatch_params& params) {
    const auto& places = params.ws.layout;
    params.ws.local<std::byte>(places.offset_of(region::topk_weights) + places.size_of(region::topk_weights))[past] ^=
        std::byte{1};
  };
  const auto region_bytes = spec.ep_size * spec.params.max_tokens_per_rank * spec.params.top_k * 4;
  const auto right = std::to_integer<std::uint64_t>(guard_byte(past));
  error.first = {.verdict = verdict::overrun,
                 .destination = wrong_rank,
                 .buffer = "topk_weights",
                 .byte = region_bytes + static_cast<std::int64_t>(past),
                 .expected = right,
                 .actual = right ^ 1U};
  return error;
}

planted plant_wrong_count(const case_spec&, const known_step& known) {
  planted error;
  error.after_dispatch = [](const protocol::dispatch_params& params) {
    params.ws.local<std::int32_t>(params.ws.layout.offset_of(region::recv_counts))[2] += 1;
  };
  const auto right = static_cast<std::uint64_t>(known.count_from(2));
  error.first = {.verdict = verdict::wrong_count,
                 .step = wrong_step,
                 .source = 2,
                 .destination = wrong_rank,
                 .buffer = "recv_counts",
                 .byte = 8,
                 .expected = right,
                 .actual = right + 1};
  return error;
}

planted plant_bad_padding(const case_spec& spec, const known_step&) {
  const auto row = *spec.runtime_max_tokens - 1;  // T is larger than n: the last row of a source holds no token
  planted error;
  error.after_dispatch = [row](const protocol::dispatch_params& params) {
    params.ws.local<std::int32_t>(params.ws.layout.offset_of(region::topk_ids))[row * params.routing.top_k + 1] = 3;
  };
  error.first = {.verdict = verdict::bad_padding,
                 .step = wrong_step,
                 .source = 0,
                 .destination = wrong_rank,
                 .row = row,
                 .buffer = "topk_ids",
                 .byte = 4,
                 .expected = 0xFFFFFFFFU,
                 .actual = 3};
  return error;
}

planted plant_wrong_sum(const case_spec&, const known_step&) {
  planted error;
  error.after_combine = [](const protocol::combine_params& params) {
    params.output[48 * 3 + 6] = std::byte{0x34};
    params.output[48 * 3 + 7] = std::byte{0x12};
  };
  error.first = {.verdict = verdict::wrong_sum,
                 .step = wrong_step,
                 .source = wrong_rank,
                 .destination = wrong_rank,
                 .token = 3,
                 .row = 3,
                 .buffer = "output",
                 .byte = 6,
                 .expected = 0,  // filled in below: the golden sum is the verifier's own business
                 .actual = 0x1234};
  return error;
}

planted plant_wrong_fault(const case_spec&, const known_step&) {
  planted error;
  error.shape = [](case_spec& spec) {
    spec.inject = injected_fault{.rank = wrong_rank, .step = wrong_step, .phase = phase::combine};
    spec.timeout = std::chrono::milliseconds(200);
    spec.expected_fault = fault_code::none;
  };
  error.first = {.verdict = verdict::wrong_fault,
                 .step = wrong_step,
                 .destination = 0,
                 .buffer = "status",
                 .expected = static_cast<std::uint64_t>(fault_code::none),
                 .actual = static_cast<std::uint64_t>(fault_code::timeout)};
  return error;
}

using planter = planted (*)(const case_spec&, const known_step&);
constexpr std::array planters{plant_loss,    plant_duplication, plant_misplacement, plant_stale,     plant_corruption,
                              plant_overrun, plant_wrong_count, plant_bad_padding,  plant_wrong_sum, plant_wrong_fault};

case_result run_with(const case_spec& spec, const planted& error) {
  run_options options;
  options.seed = seed;
  options.make_fabric = [&](int rank) -> std::shared_ptr<fabric> {
    if (rank != wrong_rank) return nullptr;
    auto kernels = host::production_kernels();
    const auto right = kernels;
    kernels.dispatch = [&error, right, calls = std::make_shared<int>(0)](host::host_block& block,
                                                                         const protocol::dispatch_params& params) {
      right.dispatch(block, params);
      if ((*calls)++ == wrong_step && error.after_dispatch) error.after_dispatch(params);
    };
    kernels.combine = [&error, right, calls = std::make_shared<int>(0)](host::host_block& block,
                                                                        const protocol::combine_params& params) {
      right.combine(block, params);
      if ((*calls)++ == wrong_step && error.after_combine) error.after_combine(params);
    };
    return host::make_host_fabric(kernels);
  };
  arena memory(required_bytes(spec));
  return run_case(spec, memory, options);
}

std::string bits_text(std::uint64_t bits) {
  std::ostringstream text;
  text << "0x" << std::hex << bits;
  return text.str();
}

void expect_text(const std::string& shown, const finding& where) {
  const auto first = shown.find("\n  " + std::string(to_string(where.verdict)) + ": ");
  ASSERT_NE(first, std::string::npos) << shown;
  const auto line = shown.substr(first + 1, shown.find('\n', first + 1) - first - 1) + ',';
  const auto expect = [&](const std::string& name, std::int64_t value) {
    const bool there = line.find(' ' + name + ' ' + std::to_string(value) + ',') != std::string::npos ||
                       line.find(' ' + name + ' ' + std::to_string(value) + ';') != std::string::npos;
    EXPECT_EQ(there, value >= 0) << name << ' ' << value << " in: " << line;
  };
  expect("step", where.step);
  expect("source", where.source);
  expect("destination", where.destination);
  expect("token", where.token);
  expect("row", where.row);
  expect("byte", where.byte);
  EXPECT_NE(line.find(" buffer " + where.buffer), std::string::npos) << line;
  EXPECT_NE(line.find("(" + bits_text(where.expected) + ")"), std::string::npos) << line;
  EXPECT_NE(line.find("(" + bits_text(where.actual) + ")"), std::string::npos) << line;
}

void expect_record(const nlohmann::json& record, const finding& where) {
  EXPECT_NE(record["status"], "pass");
  EXPECT_NE(record["reason"], "");
  ASSERT_FALSE(record["findings"].empty());
  const auto& found = record["findings"][0];
  EXPECT_EQ(found["verdict"], to_string(where.verdict)) << found;
  EXPECT_EQ(found["step"], where.step) << found;
  EXPECT_EQ(found["source"], where.source) << found;
  EXPECT_EQ(found["destination"], where.destination) << found;
  EXPECT_EQ(found["token"], where.token) << found;
  EXPECT_EQ(found["row"], where.row) << found;
  EXPECT_EQ(found["buffer"], where.buffer) << found;
  EXPECT_EQ(found["byte"], where.byte) << found;
  EXPECT_EQ(found["expected"], bits_text(where.expected)) << found;
  EXPECT_EQ(found["actual"], bits_text(where.actual)) << found;
  EXPECT_GE(found["count"], 1) << found;
}

TEST(every_verdict, is_provoked_and_reported_with_its_place) {
  auto base = small_case(3);
  base.lamport = choice::off;  // the planters count rows from the first of a slice
  const known_step known(base);
  std::string all_lines;
  std::set<std::string_view> provoked;
  for (const auto plant : planters) {
    auto error = plant(base, known);
    auto spec = base;
    spec.id = "unit/small@verdict=" + std::string(to_string(error.first.verdict));
    if (error.shape) error.shape(spec);
    SCOPED_TRACE(spec.id);
    const auto run_one = [&](const case_spec& which) {
      auto result = run_with(which, error);
      if (error.first.verdict == verdict::wrong_sum && !result.findings.empty()) {
        error.first.expected = result.findings[0].expected;
        EXPECT_NE(error.first.expected, error.first.actual);
      }
      return result;
    };
    const auto run = record_run({spec}, run_one, seed);
    EXPECT_EQ(run.code, exit_code::failed);
    expect_text(run.shown, error.first);
    expect_record(nlohmann::json::parse(run.lines), error.first);
    provoked.insert(to_string(error.first.verdict));
    all_lines += run.lines;
  }
  for (unsigned i = 0; to_string(static_cast<verdict>(i)) != "unknown"; ++i) {
    EXPECT_TRUE(provoked.contains(to_string(static_cast<verdict>(i)))) << to_string(static_cast<verdict>(i));
  }
  leave_records("switchyard_every_verdict.jsonl", planters.size(), seed, all_lines);
}

}  // namespace
}  // namespace switchyard::harness
