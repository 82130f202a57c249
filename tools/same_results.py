#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether two runs of the same cases, on the host fabric and on GPUs for example, gave the same bits.

usage: tools/same_results.py RECORDS OTHER_RECORDS

Compares the records of cases that are in both files: what was asked (inputs, shape), how many bytes were checked, and
the digest of the rows received and of the sums. Cases of one file alone, and cases that were not run or must fault, are
counted and not compared.

exit codes: 0 the same, 2 a difference or a case that did not pass, 3 nothing to compare, 5 usage or unreadable file
"""
import json
import sys

ASKED = ("seed", "inputs_digest", "spec")
FOUND = ("checked_bytes", "results_digest")


def read(path):
    """The records of cases, by id."""
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.endswith("\n")]
    return {record["id"]: record for record in records if record.get("record") == "case"}


def faults_by_design(record):
    return record["spec"]["expected_fault"] != "none"


def differences(one, other):
    """Lines that say what differs, and how many cases were compared."""
    lines, compared = [], 0
    for case in sorted(one.keys() & other.keys()):
        pair = one[case], other[case]
        if any(record["status"] == "skipped" or faults_by_design(record) for record in pair):
            continue
        compared += 1
        statuses = [record["status"] for record in pair]
        if statuses != ["pass", "pass"]:
            lines.append(f"{case}: {statuses[0]}, {statuses[1]}")
            continue
        for key in ASKED + FOUND:
            if pair[0][key] != pair[1][key]:
                lines.append(f"{case}: {key} is {pair[0][key]}, {pair[1][key]}")
    return lines, compared


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 5
    try:
        one, other = (read(path) for path in arguments)
    except (OSError, ValueError, KeyError) as error:
        print(f"same_results: {error}", file=sys.stderr)
        return 5
    lines, compared = differences(one, other)
    for line in lines:
        print(line)
    union = len(one.keys() | other.keys())
    print(f"{compared} cases compared, {len(lines)} differences, {union - compared} cases left out")
    if lines:
        return 2
    return 0 if compared else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
