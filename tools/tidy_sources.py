# SPDX-License-Identifier: Apache-2.0
"""Which of the sources named on standard input are compiled, longest first so that the last ones to end are short.

usage: tidy_sources.py COMPILE_COMMANDS_JSON < names, relative to the current directory
"""
import json
import os
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as database:
        compiled = {os.path.realpath(os.path.join(entry["directory"], entry["file"])) for entry in json.load(database)}
    names = [name for name in sys.stdin.read().splitlines() if os.path.realpath(name) in compiled]
    for name in sorted(names, key=os.path.getsize, reverse=True):
        print(name)


if __name__ == "__main__":
    main()
