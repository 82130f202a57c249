// SPDX-License-Identifier: Apache-2.0
// The two notations in which Slurm writes lists into variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::harness {

/// The first host of a host list; nothing where the text is none. All of it is read:
///   list   = name ("," name)*
///   name   = (text | "[" ranges "]")+
///   ranges = range ("," range)*
///   range  = digits ["-" digits]        the second no smaller and no shorter; longer only without leading zeros
///   text   = (letter | digit | "." | "_" | "-")+
/// A name stands for the hosts with each number of its ranges in turn: tray[01-18] begins with tray01.
std::optional<std::string> first_slurm_host(std::string_view list);

/// Tasks of each node, in the order of the nodes: "4(x18)", "2,1(x3)". Nothing where the text is none, an entry is 0 or
/// there are more than `most` tasks.
std::optional<std::vector<std::uint64_t>> slurm_tasks_per_node(std::string_view list, std::uint64_t most);

}  // namespace switchyard::harness
