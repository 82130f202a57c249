#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the JSON of host_fabric_benchmark into the table of ratios that stands in results/.

usage: host_fabric_benchmark --benchmark_repetitions=9 --benchmark_report_aggregates_only=true \
           --benchmark_out=host_fabric_benchmark.json --benchmark_out_format=json
       tools/benchmark_table.py host_fabric_benchmark.json
"""

import json
import sys


def medians(report):
    """Rate in GB/s (10^9 bytes) of each benchmark's median, by name."""
    rates = {}
    for entry in report["benchmarks"]:
        if entry.get("aggregate_name") == "median" and "bytes_per_second" in entry:
            rates[entry["run_name"].removesuffix("/real_time")] = entry["bytes_per_second"] / 1e9
    return rates


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    rates = medians(report)
    context = report["context"]
    print(f"{context['num_cpus']} CPUs at {context['mhz_per_cpu']} MHz, load average at the start "
          f"{context['load_avg'][0]:.2f}, medians of {report['benchmarks'][0]['repetitions']} repetitions\n")
    print("| ranks | tokens per rank | memcpy GB/s | dispatch GB/s | dispatch / memcpy | combine GB/s | combine / memcpy |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    shapes = [name.removeprefix("copy_same_bytes/") for name in rates if name.startswith("copy_same_bytes/")]
    counts = {shape: tuple(int(part.split(":")[1]) for part in shape.split("/")) for shape in shapes}
    for shape in sorted(shapes, key=counts.get):
        ranks, tokens = counts[shape]
        copy = rates[f"copy_same_bytes/{shape}"]
        dispatch = rates[f"dispatch_rows/{shape}"]
        combine = rates[f"combine_rows/{shape}"]
        print(f"| {ranks} | {tokens} | {copy:.2f} | {dispatch:.2f} | {dispatch / copy:.2f} | {combine:.2f} | "
              f"{combine / copy:.2f} |")
    print()
    for name, rate in rates.items():
        if name.startswith("golden_combine"):
            print(f"golden model, combine of {name.split(':')[1]} rows: {rate:.2f} GB/s read")
    for entry in report["benchmarks"]:
        if entry.get("aggregate_name") == "median" and "items_per_second" in entry:
            print(f"golden model, dispatch: {entry['items_per_second'] / 1e6:.1f} million routes/s ({entry['run_name']})")


if __name__ == "__main__":
    main()
