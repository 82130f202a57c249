# SPDX-License-Identifier: Apache-2.0
"""Checks house rules that no compiler knows.

usage: check_sources.py [ROOT]

  * the library prints nothing, ends nothing and reads no environment
  * headers have #pragma once; C++, Python and shell files say their licence in the first lines
  * no file of code above 400 lines (a warning above 300)
  * no left-over marks, no absolute paths of somebody's machine
"""
import os
import re
import sys

import source_tree
from source_tree import CXX, Finding

MAX_LINES = 400
MANY_LINES = 300
LICENCE = "SPDX-License-Identifier: Apache-2.0"

# Written in pieces, so that this file does not find itself.
MARKS = re.compile(r"\b(" + "|".join(["TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"]) + r")\b")
PATHS = re.compile(r"(?<![\w.~}])/(" + "|".join(["ho" "me", "ro" "ot", "wo" "rk", "Us" "ers"]) + r")/")

NAME = r"(?<![\w.>])"  # not a member, not the end of a longer name
LIBRARY_RULES = [
    (re.compile(r"\bstd::(cout|cerr|clog|print|println)\b|^\s*#\s*include\s*<(iostream|print)>"),
     "the library prints nothing"),
    (re.compile(NAME + r"(std::)?(v?f?printf|puts|fputs|putchar|fputc|perror)\s*\("), "the library prints nothing"),
    (re.compile(r"\b(stdout|stderr|STDOUT_FILENO|STDERR_FILENO)\b"), "the library prints nothing"),
    (re.compile(r"\b(getenv|secure_getenv|setenv|putenv|environ)\b"), "the library reads no environment"),
    (re.compile(NAME + r"(?<!::)(std::|::)?(exit|_exit|_Exit|quick_exit)\s*\("), "the library ends no process"),
    # A method may be called abort: its declarations and its calls on an object are no calls of the function.
    (re.compile(r"\bstd::(abort|terminate)\s*\(|(?<![\w.>:])(?<!void )(::)?abort\s*\(\s*\)|__builtin_trap"),
     "the library ends no process"),
]


def is_code(path, lines):
    return path.endswith(CXX + (".py", ".sh", ".cmake")) or is_script(lines) or os.path.basename(path) == "CMakeLists.txt"


def is_script(lines):
    return bool(lines) and lines[0].startswith("#!")


def check_library(path, code):
    for number, line in enumerate(code, 1):
        for pattern, rule in LIBRARY_RULES:
            match = pattern.search(line)
            if match:
                yield Finding(path, number, f"{rule}: {match.group(0).strip()}")


def check_file(root, path):
    try:
        lines = source_tree.read_lines(root, path)
    except UnicodeDecodeError:
        return  # not text
    for number, line in enumerate(lines, 1):
        for pattern, rule in ((MARKS, "left-over mark"), (PATHS, "absolute path of one machine")):
            match = pattern.search(line)
            if match:
                yield Finding(path, number, f"{rule}: {match.group(0)}")
    if not is_code(path, lines):
        return
    length = len(lines) - (lines[-1] == "")
    if length > MANY_LINES:
        limit, warning = (MAX_LINES, False) if length > MAX_LINES else (MANY_LINES, True)
        yield Finding(path, length, f"{length} lines, more than {limit}", warning)
    if (path.endswith(CXX + (".py", ".sh")) or is_script(lines)) and not any(LICENCE in line for line in lines[:3]):
        yield Finding(path, 1, f"the first lines do not say {LICENCE}")
    if path.endswith(CXX):
        code = source_tree.code_lines(lines)
        if path.endswith((".hpp", ".cuh", ".h")) and not any(line.strip() == "#pragma once" for line in code):
            yield Finding(path, 1, "a header without #pragma once")
        if path.startswith(("lib/include/", "lib/src/")):
            yield from check_library(path, code)


def check(root):
    return [finding for path in source_tree.list_files(root) if path != "LICENSE" for finding in check_file(root, path)]


if __name__ == "__main__":
    sys.exit(source_tree.main(check, __doc__))
