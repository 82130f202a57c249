// SPDX-License-Identifier: Apache-2.0
// What sysfs says of NUMA nodes, and the kernel's lists of CPUs.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "switchyard/harness/cpu_binding.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t most_quoted_bytes = 60;  // enough to recognise a list, short enough for one line

std::string_view without_white_space(std::string_view text) {
  constexpr std::string_view white = " \t\n";
  const auto first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::optional<int> decimal_up_to(std::string_view text, int most) {
  int number = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{} || rest != end || number < 0 || number > most || text.front() == '-') return std::nullopt;
  return number;
}

/// Nothing where `text` is no list.
std::optional<cpu_numbers> read_cpu_list(std::string_view text) {
  cpu_numbers cpus;
  text = without_white_space(text);
  for (bool more = !text.empty(); more;) {
    const auto comma = text.find(',');
    const auto range = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : text.size());

    const auto dash = range.find('-');
    const auto first = decimal_up_to(range.substr(0, dash), most_cpu_number);
    const auto last = dash == std::string_view::npos ? first : decimal_up_to(range.substr(dash + 1), most_cpu_number);
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

[[noreturn]] void refuse_cpu_list(const std::string& place, std::string_view text) {
  throw input_error(place + shortened(without_white_space(text), most_quoted_bytes) +
                    ": must be a list of CPUs such as 0-3,8,10-11, none above " + std::to_string(most_cpu_number));
}

/// Nothing where the file cannot be read.
std::optional<std::string> whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return file.bad() ? std::nullopt : std::optional(text);
}

/// N of a folder nodeN.
std::optional<int> node_id(const std::string& folder) {
  constexpr std::string_view prefix = "node";
  constexpr int most = 65535;  // Linux has at most 1024 (MAX_NUMNODES)
  if (folder.compare(0, prefix.size(), prefix) != 0) return std::nullopt;
  return decimal_up_to(std::string_view(folder).substr(prefix.size()), most);
}

bool are_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'); });
}

/// `address` as sysfs spells it: lower case, a domain of 4 digits unless it needs more.
std::string sysfs_address(std::string_view address) {
  constexpr std::size_t least_domain = 4;
  constexpr std::size_t most_domain = 8;
  constexpr std::string_view after_domain = ":bb:dd.f";
  std::string text(address);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  const auto domain = text.find(':');
  const bool has_form = domain >= least_domain && domain <= most_domain &&
                        text.size() == domain + after_domain.size() && text[domain + 3] == ':' &&
                        text[domain + 6] == '.' && are_hexadecimal(text.substr(0, domain)) &&
                        are_hexadecimal(text.substr(domain + 1, 2)) && are_hexadecimal(text.substr(domain + 4, 2)) &&
                        text.back() >= '0' && text.back() <= '7';
  if (!has_form) {
    throw input_error("PCI address " + shortened(address, most_quoted_bytes) +
                      ": must be domain:bus:device.function such as 0000:3b:00.0");
  }
  const auto zeros = std::min(text.find_first_not_of('0'), domain - least_domain);
  return text.substr(zeros);
}

}  // namespace

cpu_numbers parse_cpu_list(std::string_view text) {
  auto cpus = read_cpu_list(text);
  if (!cpus) refuse_cpu_list({}, text);
  return *std::move(cpus);
}

std::string cpu_list_text(const cpu_numbers& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    auto last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[first]);
    if (last > first) text += '-' + std::to_string(cpus[last]);
    first = last + 1;
  }
  return text;
}

std::vector<numa_node> read_numa_nodes(const std::filesystem::path& sysfs) {
  std::vector<numa_node> nodes;
  std::error_code absent;  // a system without NUMA has no such folder
  for (const auto& entry : std::filesystem::directory_iterator(sysfs / "devices/system/node", absent)) {
    const auto id = node_id(entry.path().filename().string());
    const auto path = entry.path() / "cpulist";
    const auto text = id ? whole_file(path) : std::nullopt;
    if (!text) continue;
    const auto cpus = read_cpu_list(*text);
    if (!cpus) refuse_cpu_list(path.string() + ": ", *text);
    if (!cpus->empty()) nodes.push_back({*id, *cpus});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const numa_node& left, const numa_node& right) { return left.id < right.id; });
  return nodes;
}

std::optional<int> read_pci_numa_node(std::string_view address, const std::filesystem::path& sysfs) {
  const auto path = sysfs / "bus/pci/devices" / sysfs_address(address) / "numa_node";
  const auto file = whole_file(path);
  if (!file) return std::nullopt;
  const auto text = without_white_space(*file);
  if (text == "-1") return std::nullopt;
  const auto node = node_id("node" + std::string(text));
  if (!node) {
    throw input_error(path.string() + ": " + shortened(text, most_quoted_bytes) +
                      ": must be the number of a node, or -1");
  }
  return node;
}

}  // namespace switchyard::harness
