#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command and fails when it takes more memory or time than promised; else passes its exit code on."""

import argparse
import resource
import subprocess
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-gib", type=float, help="peak resident memory")
    parser.add_argument("--max-seconds", type=float, help="wall time")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    begin = time.monotonic()
    status = subprocess.run(options.command, check=False).returncode
    seconds = time.monotonic() - begin
    # Linux counts ru_maxrss in KiB.
    gib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 / 1024
    print(f"peak resident memory {gib:.2f} GiB, {seconds:.1f} s")

    broken = [
        f"{name} {value:.2f} is above {bound}"
        for name, value, bound in (("GiB", gib, options.max_gib), ("seconds", seconds, options.max_seconds))
        if bound is not None and value > bound
    ]
    for line in broken:
        print(f"error: {line}", file=sys.stderr)
    return status if status != 0 else (1 if broken else 0)


if __name__ == "__main__":
    sys.exit(main())
