// SPDX-License-Identifier: Apache-2.0
// Stream sockets between the processes of a job: rank 0's listens, the others' connect.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "system/unique_descriptor.hpp"

namespace switchyard::harness {

/// Listens at `port` of all addresses of this host, IPv4 and, where there is one, IPv6; at 0: at any that is free.
/// Throws environment_error naming the port where it cannot be had.
unique_descriptor listen_at(std::uint16_t port);

/// The port that it got.
std::uint16_t port_of(const unique_descriptor& listener);

/// A connection that somebody has made, or none: waits for nothing.
unique_descriptor accept_one(const unique_descriptor& listener);

/// Tries again until somebody listens there. Throws environment_error when nobody does within `limit`, or when
/// `stop_requested` says so.
unique_descriptor connect_to(const std::string& host, std::uint16_t port, std::chrono::nanoseconds limit,
                             const std::function<bool()>& stop_requested);

/// Whether a port of this host can be listened at right now.
bool is_port_free(std::uint16_t port);

}  // namespace switchyard::harness
