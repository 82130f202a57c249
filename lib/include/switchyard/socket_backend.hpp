// SPDX-License-Identifier: Apache-2.0
// Comm backends for ranks that are processes: of one host over unix sockets, of several over TCP.
//
// Rank 0 listens at a rendezvous, where all others come; then every two ranks have a connection of their own. So each
// rank sees at once when another one ends, and a part of the ranks (part_of) needs none of the others, nor rank 0. What
// holds for every backend stands at comm_backend; besides, here:
//   * a rank whose process ends, is killed or destroys its backend without having come to a gathering is named at once,
//     on every rank that waits for it; one that is merely silent is named at the deadline;
//   * a gathering that one rank has given up is over for all of its ranks, each of which is told who was missing;
//   * a gathering may have at most 1 GiB from each rank, more is invalid_argument; each rank sends its bytes to every
//     other, size() * (size() - 1) messages in all: made for handles and verdicts, not for tensors;
//   * a process holds size() - 1 descriptors for a backend and its parts, while it is made a few more; all
//   close-on-exec;
//   * work is done inside calls alone, in the caller's thread: there are no others, and no signal is raised (SIGPIPE);
//   * after fork() only one of both processes may use a backend, or destroy it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "switchyard/comm_backend.hpp"

namespace switchyard {

inline constexpr std::size_t most_unix_name_bytes = 96;
inline constexpr std::size_t most_host_bytes = 64;

/// Which rank of which group, and how long making its backend may take.
struct process_group {
  int rank = 0;
  int size = 1;  ///< 1 .. max_ep_size, equal on all ranks
  /// Of the whole call. Later calls have their own.
  std::chrono::nanoseconds timeout = std::chrono::seconds(300);
  /// Any text, equal on all ranks: who says another is turned away, and taken for no rank of this group. The name of
  /// the job, for example, so that a process that is left of an earlier one does not get into this one. It keeps
  /// mistakes out, not attackers: what travels is a digest that can be read and repeated.
  std::string secret;
};

/// A rendezvous on one host: a name in the abstract namespace of unix sockets, of 1 .. most_unix_name_bytes bytes. It
/// is of the network namespace, not of the file system: containers that share no network do not meet. Nothing is left
/// of it when rank 0 ends, however it ends.
struct unix_rendezvous {
  std::string name;
};

/// Where rank 0 is found by TCP: IPv4 or IPv6, whatever `host` says or is looked up to; the look-up takes as long as
/// the system's resolver lets it. Rank 0 itself listens at `port` of all of its host's addresses.
struct tcp_rendezvous {
  std::string host;
  std::uint16_t port = 0;
  /// What the other ranks are to reach this rank by, at most most_host_bytes; empty: the address from which it comes to
  /// rank 0. To be given where that one means something else elsewhere, such as 127.0.0.1. Rank 0 has no use for it.
  std::string own_host;
};

/// The backend of one rank, whose process calls this once; passes descriptors. Collective: all ranks call it, in any
/// order, with the same name, size and secret, and return together. Ranks that come early try again until rank 0 is
/// there. On both sides of a connection the other process must be of the same user.
///
/// Throws invalid_argument for a rank, size or name that breaks its rule; where another process has the name (rank 0; a
/// name that has just been given up is waited for, up to a second) or another user's process answers there; and, on
/// every rank that has come by then, where a rank's size or build differs from rank 0's, or two say that they are the
/// same rank. Throws peer_fault naming, also in its record, the ranks that did not come within the timeout. After a
/// failure the same call may be made again.
std::shared_ptr<comm_backend> make_unix_socket_backend(const unix_rendezvous& where, const process_group& which);

/// The same over TCP, between hosts of one byte order; passes no descriptors. Ranks must be able to connect to each
/// other's hosts at any port that is free. A host that goes down without a word is noticed at the deadline, not at
/// once.
std::shared_ptr<comm_backend> make_tcp_backend(const tcp_rendezvous& where, const process_group& which);

}  // namespace switchyard
