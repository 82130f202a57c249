// SPDX-License-Identifier: Apache-2.0
// One fully resolved case: a point of a scenario's sweep, ready to run. Plain data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/spec/faults.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {

/// How expert ids are drawn.
enum class routing_law : std::uint8_t {
  uniform,   ///< top_k distinct experts, each subset equally likely
  balanced,  ///< every expert equally often over the ranks' tokens of a step, distinct within a row
};

/// Whether shapes stay or change from step to step.
enum class step_variation : std::uint8_t {
  fixed,  ///< every rank has num_tokens tokens in every step
  vary,   ///< per step: n of each rank from 0 .. num_tokens, T from max n .. capacity, weights and extra come and go,
          ///< combine's h from {hidden_size, smaller}, some ids invalid, zero-copy combine on and off
};

/// A rank that is slow: before each phase of each step, one rank drawn at random sleeps up to `at_most`.
struct lateness {
  std::chrono::microseconds at_most{0};
};

/// A rank that never enters `phase` of `step`; it stays alive and calls nothing more.
struct absence {
  int rank = 0;
  int step = 0;
  switchyard::phase phase = switchyard::phase::dispatch;
};

struct case_spec {
  std::string suite;
  std::string name;
  std::string id;  ///< suite/name@key=value,... with keys sorted
  std::vector<std::string> tags;
  std::string profile;  ///< name of the model profile, or empty

  int ep_size = 1;
  comm_params params;
  std::int64_t num_tokens = 0;                     ///< per rank and step; the maximum when varying
  std::optional<std::int64_t> runtime_max_tokens;  ///< T; none: max(1, num_tokens)
  bool topk_weights = true;
  std::size_t extra_bytes = 0;
  routing_law routing = routing_law::uniform;
  int invalid_percent = 0;  ///< share of ids replaced by invalid_expert_id, 0..100
  step_variation variation = step_variation::fixed;
  int steps = 3;
  int blocks = 1;   ///< blocks per launch of a rank
  int workers = 1;  ///< threads that run a rank's blocks
  std::uint32_t first_epoch = 1;
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds warmup_timeout{0};  ///< of the first step; 0: long enough for threads to be started
  lateness late;
  std::optional<absence> absent;
  fault_code expected_fault = fault_code::none;  ///< a case that must fault: which code, on every rank that is there
};

std::string_view to_string(routing_law law) noexcept;
std::string_view to_string(step_variation variation) noexcept;

/// Bytes of arena that run_case needs for `spec`.
std::size_t required_bytes(const case_spec& spec);

}  // namespace switchyard::harness
