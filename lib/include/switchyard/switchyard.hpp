// SPDX-License-Identifier: Apache-2.0
// Umbrella header.
#pragma once

#include "switchyard/comm_backend.hpp"
#include "switchyard/config.hpp"
#include "switchyard/one_sided_all_to_all.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/socket_backend.hpp"
#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/errors.hpp"
#include "switchyard/spec/faults.hpp"
#include "switchyard/spec/formats.hpp"
#include "switchyard/spec/low_precision.hpp"
#include "switchyard/spec/shapes.hpp"
#include "switchyard/stream.hpp"
#include "switchyard/support.hpp"
