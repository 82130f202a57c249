// SPDX-License-Identifier: Apache-2.0
// What ranks in different processes send each other over a stream: whoever connects says one hello; from then on frames
// go both ways, each a header and a body. Both sides are of one byte order and one build, which the hello makes sure
// of, so plain structs travel as they are.
//
//   connection = hello frame*           ; frames of the side that was connected to come without hello
//   frame      = frame_header body      ; with at most one file descriptor, sent with the header's first byte
#pragma once

#include <array>
#include <cstdint>

#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::comm {

/// Raised with every change of what follows, and of what the library gathers over it. Never changed are the hello, the
/// frame header, and frames of kind refused, so that ranks of different versions can tell each other.
inline constexpr std::uint32_t wire_version = 1;

inline constexpr std::uint64_t hello_magic = 0x7377'7964'6865'6C6F;  // "swydhelo"; another byte order is a stranger
inline constexpr std::uint32_t frame_magic = 0x7377'7966;            // "swyf"

/// Where a rank can be reached: text that ends with 0.
using wire_address = std::array<char, 80>;

struct hello {
  std::uint64_t magic = hello_magic;
  std::uint32_t version = wire_version;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t build = 0;  ///< build_number() of the library
  /// To rank 0: a digest of the group's secret. To any other rank: the group's id, which rank 0 has told by then.
  group_id proof{};
  wire_address address{};  ///< to rank 0: where this rank listens
};

enum class frame_kind : std::uint32_t {
  refused,   ///< body: absence, then text. The hello, or the whole group, is turned down
  here,      ///< body: rank_set. Who has come to rank 0 so far, in the rendezvous
  welcome,   ///< body: group_id, then a wire_address for each rank. Everybody has come
  gathered,  ///< body: a rank's part of a gathering
  joining,   ///< body: rank_set. A rank asks for a part of these ranks
  ready,     ///< body: u64. A rank has everybody's joining; a digest of whose it has
  leaving,   ///< body: departure; in the rendezvous empty. A rank takes part no longer
};

enum class gather_call : std::uint32_t { bytes, descriptor, no_descriptor };

struct frame_header {
  std::uint32_t magic = frame_magic;
  frame_kind kind = frame_kind::refused;
  std::uint64_t body_bytes = 0;
  /// Which of the sender's backends this is about: 0 is the one of all ranks, then parts in the order in which it has
  /// asked for them.
  std::uint64_t membership = 0;
  std::uint64_t generation = 0;  ///< of gathered and leaving: how many gatherings there were before
  gather_call call = gather_call::bytes;
  std::uint32_t padding = 0;
};

/// Larger bodies are taken for garbage.
inline constexpr std::uint64_t most_body_bytes = std::uint64_t{1} << 30;

enum class absence_reason : std::uint32_t {
  late,      ///< ranks did not come in time
  gone,      ///< their connections have ended
  departed,  ///< they have destroyed their backends
  unfit,     ///< they are of another group, size or build
};

/// Why a gathering cannot be.
struct absence {
  absence_reason reason = absence_reason::late;
  std::int32_t told_by = -1;     ///< the rank that found it; -1: this one
  std::uint64_t timeout_ns = 0;  ///< of late
  rank_set missing{};            ///< by the numbers of the whole group
};

struct departure {
  absence why;
  rank_set members{};  ///< of the backend that is left
};

}  // namespace switchyard::comm
