// SPDX-License-Identifier: Apache-2.0
// switchyard baseline: which samples others are held against, who said so, and why.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "common_options.hpp"
#include "switchyard/harness/gate/baseline.hpp"
#include "switchyard/harness/printable.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::tools {
namespace gate = harness::gate;
namespace {

struct baseline_arguments {
  std::string folder;
  std::string samples;
  std::string owner;
  std::string reason;
  bool even_so = false;
};

std::string line_of(const gate::baseline_decision& one) {
  return harness::printable(one.time + ' ' + std::string(to_string(one.action)) + ' ' + one.samples + " (" +
                            one.digest + ") by " + one.owner + ": " + one.reason + "; " + one.build + "; " +
                            one.testbed);
}

harness::exit_code list(const baseline_arguments& arguments) {
  const gate::baseline_folder folder(arguments.folder);
  std::cout << "standing:\n";
  const auto standing = folder.standing();
  for (const auto& one : standing) std::cout << "  " << line_of(one) << '\n';
  if (standing.empty()) std::cout << "  none\n";
  std::cout << "log:\n";
  for (const auto& one : folder.log()) std::cout << "  " << line_of(one) << '\n';
  return harness::exit_code::all_passed;
}

harness::exit_code decide(const baseline_arguments& arguments, gate::baseline_action action) {
  gate::baseline_folder folder(arguments.folder);
  gate::baseline_decision said;
  said.time = harness::utc_text(std::chrono::system_clock::now());
  said.owner = arguments.owner;
  said.reason = arguments.reason;
  const auto how = arguments.even_so ? gate::accept_what::anything : gate::accept_what::sound;
  const auto decision = action == gate::baseline_action::accept ? folder.accept(arguments.samples, said, how)
                                                                : folder.reject(arguments.samples, said);
  std::cout << line_of(decision) << '\n';
  return harness::exit_code::all_passed;
}

CLI::App* add_decision(CLI::App& parent, const std::string& name, const std::string& meaning,
                       const std::shared_ptr<baseline_arguments>& into) {
  auto* added = parent.add_subcommand(name, meaning);
  added->add_option("folder", into->folder, "Folder of baselines")->type_name("DIR")->required();
  added->add_option("samples", into->samples, "File of samples, as bench --launches writes it")
      ->type_name("FILE")
      ->required();
  added->add_option("--owner", into->owner, "Who decides; goes into the log")->type_name("NAME")->required();
  added->add_option("--reason", into->reason, "Why; goes into the log")->type_name("TEXT")->required();
  return added;
}

}  // namespace

command add_baseline_command(CLI::App& app) {
  auto* added = app.add_subcommand("baseline", "Accept, reject or list the samples that gate compares with");
  const auto arguments = std::make_shared<baseline_arguments>();
  added->require_subcommand(1);
  auto* accept = add_decision(*added, "accept", "From now on these are the baseline of their testbed", arguments);
  accept->add_flag("--even-so", arguments->even_so,
                   "Also with few launches, changed sources, failed launches, or though it was rejected before");
  auto* reject = add_decision(*added, "reject", "These are no baseline, now or later", arguments);
  auto* listed = added->add_subcommand("list", "What stands, and the log");
  listed->add_option("folder", arguments->folder, "Folder of baselines")->type_name("DIR")->required();
  added->footer("Decisions are about contents, by their digest. Exit codes: 0 done; 5 refused, nothing was changed.");
  return {added, [accept, reject, listed, arguments] {
            for (const auto* one : {accept, reject, listed}) {
              if (one->parsed()) require_text(*one, "folder", arguments->folder);
            }
            if (listed->parsed()) return list(*arguments);
            return decide(*arguments, reject->parsed() ? gate::baseline_action::reject : gate::baseline_action::accept);
          }};
}

}  // namespace switchyard::tools
