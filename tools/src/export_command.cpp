// SPDX-License-Identifier: Apache-2.0
// switchyard export: samples in the words of other tools.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "common_options.hpp"
#include "switchyard/harness/gate/exports.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

struct export_arguments {
  std::string samples;
  std::string form;
  std::string out;
};

harness::exit_code export_samples(const export_arguments& arguments) {
  const bool google = arguments.form == "google-benchmark";
  if (!google && arguments.form != "csv") {
    throw harness::input_error("--as: " + arguments.form + ": must be one of google-benchmark, csv");
  }
  const auto samples = harness::gate::read_samples(arguments.samples);
  const auto text = google ? google_benchmark_of(samples) : csv_of(samples);
  if (arguments.out.empty()) {
    std::cout << text;
  } else {
    harness::write_file_atomically(arguments.out, text);
  }
  return harness::exit_code::all_passed;
}

}  // namespace

command add_export_command(CLI::App& app) {
  auto* added = app.add_subcommand("export", "Write samples for other tools");
  const auto arguments = std::make_shared<export_arguments>();
  added->add_option("samples", arguments->samples, "Samples, a bench, or a folder of them")->required();
  added->add_option("--as", arguments->form, "google-benchmark: JSON for its compare.py; csv: a line a sample")
      ->type_name("FORM")
      ->required();
  added->add_option("--out", arguments->out, "Write to this file (default: standard output)")->type_name("FILE");
  return {added, [added, arguments] {
            require_text(*added, "samples", arguments->samples);
            require_text(*added, "--out", arguments->out);
            return export_samples(*arguments);
          }};
}

}  // namespace switchyard::tools
