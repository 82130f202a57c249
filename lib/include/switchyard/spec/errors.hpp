// SPDX-License-Identifier: Apache-2.0
// Every exception that the library throws. A message names the field, its value and the rule.
#pragma once

#include <stdexcept>
#include <string>

#include "switchyard/spec/faults.hpp"

namespace switchyard {

/// Base of all of the library's exceptions.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value breaks a documented rule. Nothing was enqueued or allocated.
class invalid_argument : public error {
 public:
  using error::error;
};

/// A call out of turn: combine without dispatch, use after destroy, a second in-flight step.
class state_error : public error {
 public:
  using error::error;
};

/// A legal request that this build, machine or fabric cannot serve.
class unsupported : public error {
 public:
  using error::error;
};

/// Memory for the workspace could not be had.
class out_of_memory : public error {
 public:
  using error::error;
};

/// A call of the CUDA runtime or driver failed.
class cuda_error : public error {
 public:
  using error::error;
};

/// The workspace is poisoned: a phase failed earlier, or a collective call outside the data path failed at a peer.
class peer_fault : public error {
 public:
  peer_fault(const std::string& message, const fault_record& record) : error(message), record_(record) {}
  /// What was recorded; code none when the failure was outside a phase (construction, for example).
  [[nodiscard]] const fault_record& record() const noexcept { return record_; }

 private:
  fault_record record_;
};

}  // namespace switchyard
