#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether benchmarks of Google Benchmark take longer than they did: medians of two runs, side by side.

usage: host_pieces_benchmark --benchmark_repetitions=9 --benchmark_report_aggregates_only=true \
           --benchmark_out=now.json --benchmark_out_format=json
       tools/compare_benchmarks.py results/host-x86-2core/host_pieces_benchmark.json now.json

Compares the CPU time of the medians. A benchmark is slower, or faster, where these differ by more than the percentage
below and by more than what the repetitions of either run spread by: both standard deviations together. A benchmark of
the base that is not in the other run is missing. Runs whose CPUs differ in number or clock, or whose libraries were
built otherwise, are shown and not judged.

exit codes: 0 nothing slower, 1 something slower, 2 something missing, 4 not the same machine, 5 usage or unreadable file
"""
import json
import sys

PERCENT = 10  # medians of three runs of one build differed by up to 6 %: results/host-x86-2core/README.md
MACHINE = ("num_cpus", "mhz_per_cpu", "library_build_type")
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def read(path):
    """The context of a run, and for each benchmark its median and standard deviation in nanoseconds of CPU time."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    times = {}
    for entry in report["benchmarks"]:
        name = entry.get("aggregate_name")
        if name in ("median", "stddev"):
            times.setdefault(entry["run_name"], {})[name] = entry["cpu_time"] * NANOSECONDS[entry["time_unit"]]
    times = {name: (one["median"], one["stddev"]) for name, one in times.items()}
    if not times:
        raise ValueError(f"{path}: no medians: the run needs --benchmark_repetitions")
    return report["context"], times


def verdict(base, now):
    """Of two pairs of median and standard deviation."""
    change = now[0] - base[0]
    if abs(change) <= max(base[0] * PERCENT / 100, base[1] + now[1]):
        return "same"
    return "slower" if change > 0 else "faster"


def other_machine(base, now):
    return [f"{key} is {base.get(key)}, {now.get(key)}" for key in MACHINE if base.get(key) != now.get(key)]


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 5
    try:
        (base_context, base), (now_context, now) = (read(path) for path in arguments)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"compare_benchmarks: {error}", file=sys.stderr)
        return 5
    strange = other_machine(base_context, now_context)
    found = set()
    print("| benchmark | base ns | now ns | now / base | spread ns, base and now | verdict |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for name, before in sorted(base.items()):
        if name not in now:
            word, cells = "missing", f"{before[0]:.4g} | - | - | {before[1]:.2g}, -"
        else:
            after = now[name]
            word = "not judged" if strange else verdict(before, after)
            ratio = f"{after[0] / before[0]:.2f}" if before[0] > 0 else "-"
            cells = f"{before[0]:.4g} | {after[0]:.4g} | {ratio} | {before[1]:.2g}, {after[1]:.2g}"
        found.add(word)
        print(f"| {name} | {cells} | {word} |")
    for name in sorted(now.keys() - base.keys()):
        print(f"| {name} | - | {now[name][0]:.4g} | - | -, {now[name][1]:.2g} | new |")
    for line in strange:
        print(f"not the same machine: {line}")
    if "missing" in found:
        return 2
    if strange:
        return 4
    return 1 if "slower" in found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
