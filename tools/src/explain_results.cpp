// SPDX-License-Identifier: Apache-2.0
// Verdicts, statuses of cases, and exit codes.
#include "explanations.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/exit_code.hpp"

namespace switchyard::tools {
namespace {

using harness::case_status;
using harness::exit_code;
using harness::verdict;

std::vector<explanation> verdict_explanations() {
  constexpr std::string_view kind = "verdict";
  return {
      {kind, to_string(verdict::loss),
       "A row that must be there was never written: the bytes that the harness had put there before the step are still "
       "in its place, or the row is marked as holding no token.",
       "A put that was left out or went elsewhere; a receiver that went on before the data was visible; a row placed "
       "in "
       "another's stead.",
       "Whether a duplication or misplacement finding of the same source and step says where the row went. If the row "
       "is right in a second run and wrong now and then, suspect order: data must be visible before its flag."},
      {kind, to_string(verdict::duplication), "A row of this step is in its own place and a second time in another's.",
       "Two tokens that got the same place in the packed order, or a chunk sent twice.",
       "detail names the row's own place. The difference of the two rows is often a chunk, or a count that was added "
       "twice."},
      {kind, to_string(verdict::misplacement),
       "A row of this step in the place of another, and not in its own; or a sum that belongs to another token.",
       "Wrong prefix counts across chunks; rows sent to the wrong rank; two rows swapped.",
       "detail says whose row it is: the same source and another token is the packing, another source is the base "
       "address, and a token that was not routed here is the routing."},
      {kind, to_string(verdict::stale), "A row, or a sum, of an earlier step.",
       "A flag of an earlier step that was taken for a fresh one; a buffer read before it was rewritten; parity or "
       "epoch "
       "frozen.",
       "How many steps back detail says. One or two steps point at parity, more at an epoch that is not compared. The "
       "table in lib/docs/protocol.md says why each buffer may be overwritten."},
      {kind, to_string(verdict::corruption), "The right row with wrong bytes, or bytes that belong to nobody.",
       "Part of a row from another step, torn by a read that came too early; a copy with a wrong width or alignment; a "
       "broken link or memory.",
       "byte and count: a run of 16 or 128 bytes at a multiple of it is a copy's last piece, a single bit is hardware, "
       "scattered bytes are a race."},
      {kind, to_string(verdict::overrun),
       "Memory was changed that nobody may write: a guard between regions of a workspace, a fence round a buffer, or "
       "bytes past the used part.",
       "A row longer than its place; a capacity that is checked with the wrong stride; an index past the end of the "
       "group.",
       "buffer is the region before the guard, and byte counts from its start: divide by the row's bytes to see which "
       "row would have been there."},
      {kind, to_string(verdict::wrong_count),
       "recv_counts of a source differs from the number of rows that the golden model routes here.",
       "A count published before it was complete, or added to twice; the routing of an earlier step.",
       "Rows of the same source: if they are all right only the count is wrong, if rows are lost or stale the step "
       "is."},
      {kind, to_string(verdict::bad_padding),
       "A row that holds no token has an expert id that is valid, so that experts would compute on garbage.",
       "Padding that was not marked, or was marked before the last rows of an earlier step arrived.",
       "detail, when the ids are those of a known row: of an earlier step it is stale marking, of this one a row past "
       "the count."},
      {kind, to_string(verdict::wrong_sum),
       "An element that combine returned is not, bit for bit, the sum that the contract defines.",
       "A contribution left out, read too early or added in another order; a rounding too many; an expert's input that "
       "was wrong already.",
       "Findings in dispatch of the same step and token first: a wrong input makes a wrong sum. A difference in the "
       "last bit only is order or rounding, a large one a missing or foreign row."},
      {kind, to_string(verdict::wrong_fault),
       "A fault where none was due, none where one was due, one that names the wrong thing, or a faulted phase that "
       "left "
       "something else than what the contract says.",
       "A deadline too short for a busy machine; an absent rank that was not noticed; a record that blames the wrong "
       "rank.",
       "detail, then the faults of the case rank by rank. explain CODE says what each code stands for."},
  };
}

std::vector<explanation> status_explanations() {
  constexpr std::string_view kind = "case status";
  return {
      {kind, to_string(case_status::pass),
       "Every byte agreed with the golden model, or every rank recorded exactly the fault that was due.", "",
       "checked_bytes says how much was compared."},
      {kind, to_string(case_status::fail), "At least one finding, or an error of a rank.",
       "The library does not do what the contract says; or the case asks for what cannot be.",
       "The first finding of the earliest step: later ones often follow from it. The repeat line runs the case alone."},
      {kind, to_string(case_status::crash),
       "The process of a rank ended, or the case by an exception that is nobody's result.",
       "A signal: 11 and 6 are errors of the program, 9 may be the system, out of memory; a host that went down. An "
       "error in "
       "the harness itself, when the reason says internal error.",
       "The reason names the rank, how it ended, where, and what it printed last; exit code 6 says that it is the "
       "program "
       "that must be mended."},
      {kind, to_string(case_status::timeout),
       "A rank missed its deadline though no fault was due, or the watchdog saw no rank make progress, a process that "
       "does "
       "not run, or a case of processes past its limit.",
       "A hang; a machine that is too busy for the timeout of the scenario.",
       "The reason names the ranks and the phase in which they stand. The same case with a longer timeout_ms: if it "
       "passes, the machine was slow."},
      {kind, to_string(case_status::device_lost),
       "A device failed in the case or in an earlier one and takes no more work.",
       "A kernel that reads or stores where nothing is, hardware (ECC, NVLink), or a driver that has reset it.",
       "The first such case: those behind it were not run. The system's log at its time; then the same case alone, in "
       "a "
       "new process: if it is lost again, compute-sanitizer names the access."},
      {kind, to_string(case_status::skipped), "The case was not run because something that it needs is not here.", "",
       "The reason. A skipped case never counts as passed: a run with nothing else ends with exit code 3."},
      {kind, to_string(case_status::waived), "The case failed and a list of known issues says that this is known.", "",
       "The reason names the issue."},
      {kind, to_string(case_status::missing), "The case was due and has no record.",
       "The run was stopped, its disk was full, or it ended at the first failure.",
       "run --resume RECORDS goes on where it ended."},
  };
}

std::vector<explanation> exit_code_explanations() {
  constexpr std::string_view kind = "exit code";
  return {
      {kind, to_string(exit_code::all_passed),
       "0: every case passed; those that were skipped or waived are named. Also of a dry run that would be accepted, "
       "and "
       "of an empty shard, which says that it is one.",
       "", "The table and the summary file."},
      {kind, to_string(exit_code::regressed),
       "1: all results are right, and something is slower than its baseline allows.",
       "A change that costs time; another clock, driver or topology than the baseline's.",
       "The environment of both records before the numbers."},
      {kind, to_string(exit_code::failed),
       "2: at least one case failed, crashed, timed out, lost its device or is missing.",
       "See the statuses of the cases.", "The first case that is listed, with its repeat line."},
      {kind, to_string(exit_code::environment), "3: something required is absent, or no case passed at all.",
       "No memory for the arena, a GPU that is required and not there, output that cannot be written, or every case "
       "skipped.",
       "The message on standard error, and the reasons of skipped cases."},
      {kind, to_string(exit_code::inconclusive),
       "4: results are right, and the measurement is too noisy or too short to say whether they are fast enough.",
       "A busy machine; too few repetitions.", "The spread of the samples; run again on an idle machine."},
      {kind, to_string(exit_code::bad_input),
       "5: usage or input error. It was found before the first case and nothing ran.",
       "An option or a scenario file that breaks a rule; a case that needs more memory than it may have; records that "
       "do not belong to the run that is to be resumed.",
       "The one line on standard error: file, place, value and rule."},
      {kind, to_string(exit_code::internal_error), "6: the program itself is wrong.",
       "An assumption of the harness that does not hold.", "The message, and the case that was running."},
  };
}

}  // namespace

std::vector<explanation> result_explanations() {
  auto all = verdict_explanations();
  for (const auto& more : {status_explanations(), exit_code_explanations()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace switchyard::tools
