// SPDX-License-Identifier: Apache-2.0
// Words of compare and gate.
#include "explanations.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::tools {
namespace {

using harness::gate::floor_source;
using harness::gate::gate_verdict;

}  // namespace

std::vector<explanation> gate_explanations() {
  constexpr std::string_view verdict = "gate verdict";
  constexpr std::string_view floor = "floor of the gate";
  return {
      {verdict, to_string(gate_verdict::pass),
       "No slower than the floor allows. Where the shift is within the floor it may well be real: a floor says what is "
       "too little to act on.",
       "", "The interval of the shift: how much slower it could be at most."},
      {verdict, to_string(gate_verdict::regressed),
       "Slower, beyond chance (q below 0.05) and beyond the floor (the lower bound of the shift exceeds it).",
       "A change that costs time; launches of one side on a machine that was busy, hot or throttled.",
       "How many launches of either side are marked, and whether neighbours in tokens or phase moved alike. explain "
       "VERDICTS.jsonl:SCENARIO shows the arithmetic."},
      {verdict, to_string(gate_verdict::improved), "Faster, beyond chance and beyond the floor.", "",
       "Whether it is still right: then accept the samples as baseline, so that the gain is kept."},
      {verdict, to_string(gate_verdict::inconclusive),
       "No verdict: too few launches, another testbed, or an estimate beyond the floor that chance or the width of its "
       "interval leaves open. Never a pass.",
       "Fewer than 4 launches a side, or fewer than 8 for more than 20 scenarios; noise.",
       "The reason says which. More launches narrow the interval: bench --launches, dealt in turns by --against."},
      {verdict, to_string(gate_verdict::missing), "In the base, and not, or only as skipped, in what is compared.",
       "A scenario that was renamed or left out; options that differ (they are part of the id); a bench that ended "
       "early.",
       "Ids that are only in the current set: a renamed scenario is there under its new id. A new baseline is accepted "
       "for what is meant to be gone."},
      {verdict, to_string(gate_verdict::failed),
       "A result that was wrong, or a case that did not pass. No time excuses it.",
       "See the status of the case, or what its launch said.", "The reason; then the case alone."},
      {floor, to_string(floor_source::percent), "The percentage of the base's median that was asked for.", "",
       "--percent changes it."},
      {floor, to_string(floor_source::least_us),
       "The least difference in microseconds that is acted on: below it a timer's tick and placement decide.", "",
       "--least-us changes it."},
      {floor, to_string(floor_source::noise),
       "What launches of one build showed against launches of the same build, which is more than percentage and "
       "microseconds.",
       "", "bench --aa measures it anew; a quieter machine lowers it."},
  };
}

}  // namespace switchyard::tools
