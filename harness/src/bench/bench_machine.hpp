// SPDX-License-Identifier: Apache-2.0
// Finding out where a bench runs.
#pragma once

#include "device_reader.hpp"
#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

/// The first `ranks` GPUs, and where this process may run.
bench_machine describe_machine(int ranks, const device_reader& reader);

}  // namespace switchyard::harness
