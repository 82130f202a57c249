// SPDX-License-Identifier: Apache-2.0
// What a supervisor and the process of a rank tell each other. Every message is an object that has its word as "is".
//
//   rank -> supervisor
//     hello     identity (group_identity_json), rank, pid, as_seen: the machine as this rank sees it. First of all
//     beat      position, progress: since the last one something has been done
//     met       where, well: the rank waits there
//     off       where: nobody is to wait there
//     outcome   found: what the rank has (outcome_message.hpp), traffic, lost: a device, or null
//     refused   status, reason: the case cannot run here
//   supervisor -> rank
//     run       case: its place, number: of the attempt, meeting (rendezvous of the case's backends)
//     go        where, well: the end of a meeting
//     call_off  reason, all: the case is to end at once; all: also those that wait for others to end
//     quit      no more cases
//
// Sides are of one build, which hello makes sure of, so there are no versions of single messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../run/rank_group.hpp"

namespace switchyard::harness::say {

inline constexpr std::string_view hello = "hello";
inline constexpr std::string_view beat = "beat";
inline constexpr std::string_view met = "met";
inline constexpr std::string_view off = "off";
inline constexpr std::string_view outcome = "outcome";
inline constexpr std::string_view refused = "refused";
inline constexpr std::string_view run = "run";
inline constexpr std::string_view go = "go";
inline constexpr std::string_view call_off = "call_off";
inline constexpr std::string_view quit = "quit";

// Between a supervisor and the process that starts a rank for it elsewhere: remote_rank.hpp.
inline constexpr std::string_view join = "join";
inline constexpr std::string_view welcome = "welcome";
inline constexpr std::string_view turned_away = "turned_away";
inline constexpr std::string_view start = "start";
inline constexpr std::string_view kill = "kill";
inline constexpr std::string_view pass = "pass";
inline constexpr std::string_view ended = "ended";
inline constexpr std::string_view stopped = "stopped";
inline constexpr std::string_view finish = "finish";

}  // namespace switchyard::harness::say
