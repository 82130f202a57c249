# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom.

usage: check_includes.py [ROOT]

  spec <- reference     spec <- lib     lib + reference <- harness <- tools
  inside lib: spec < layout < protocol < fabric, with comm beside fabric, and system below both

The reference and the library never include each other. From outside, only the library's public headers are
included, but the harness may ask for a fabric that errs or checks no headers, and its tests may include lib/src to inject faults. The library sees no JSON and no command line.
"""
import os
import re
import sys

import source_tree
from source_tree import Finding

# The first prefix that fits names a file's room. lib/src/ itself is the top of the library: it may use all of it.
ROOMS = [
    ("lib/include/switchyard/spec/", "spec"),
    ("lib/include/switchyard/one_sided_all_to_all.hpp", "lib class"),
    ("lib/include/switchyard/switchyard.hpp", "lib class"),
    ("lib/include/", "lib words"),
    ("lib/src/layout/", "layout"),
    ("lib/src/protocol/", "protocol"),
    ("lib/src/fabric/", "fabric"),
    ("lib/src/comm/", "comm"),
    ("lib/src/system/", "system"),
    ("lib/src/injection/faulty_fabric.hpp", "odd fabrics"),
    ("lib/src/injection/unchecked_fabric.hpp", "odd fabrics"),
    ("lib/src/", "lib top"),
    ("lib/tests/consumer/", "lib consumer"),
    ("lib/tests/", "lib tests"),
    ("reference/include/", "reference"),
    ("reference/src/", "reference src"),
    ("reference/tests/", "reference tests"),
    ("harness/include/", "harness"),
    ("harness/src/", "harness src"),
    ("harness/tests/", "harness tests"),
    ("harness/bench/", "harness bench"),
    ("tools/tests/", "tools tests"),
    ("tools/", "tools"),
]

LIB_PUBLIC = {"spec", "lib words", "lib class"}
LIB_INNER = {"layout", "protocol", "fabric", "comm", "system", "odd fabrics", "lib top"}

ALLOWED = {
    "spec": {"spec"},
    "lib words": {"spec", "lib words"},
    "lib class": LIB_PUBLIC,
    "layout": {"spec", "lib words", "layout"},
    "protocol": {"spec", "lib words", "layout", "protocol"},
    "fabric": {"spec", "lib words", "layout", "protocol", "system", "fabric"},
    "comm": {"spec", "lib words", "system", "comm"},
    "system": {"system"},
    "odd fabrics": LIB_PUBLIC,
    "lib top": LIB_PUBLIC | LIB_INNER,
    "lib consumer": LIB_PUBLIC | {"lib consumer"},
    "lib tests": LIB_PUBLIC | LIB_INNER | {"lib tests"},
    "reference": {"spec", "reference"},
    "reference src": {"spec", "reference", "reference src"},
    "reference tests": {"spec", "reference", "reference src", "reference tests"},
    "harness": LIB_PUBLIC | {"reference", "harness"},
    "harness src": LIB_PUBLIC | {"odd fabrics", "system", "reference", "harness", "harness src"},
    "harness tests": LIB_PUBLIC | LIB_INNER | {"reference", "harness", "harness src", "harness tests"},
    "harness bench": LIB_PUBLIC | {"odd fabrics", "reference", "harness", "harness bench"},
    "tools": LIB_PUBLIC | {"reference", "harness", "tools"},
    "tools tests": LIB_PUBLIC | {"reference", "harness", "tools", "tools tests"},
}

INCLUDE_FOLDERS = ["lib/include", "reference/include", "harness/include",
                   "lib/src", "reference/src", "harness/src", "tools/src", "lib/tests", "reference/tests", "harness/tests"]

INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<quote>["<])(?P<name>[^">]+)[">]')
NO_PARSERS = re.compile(r"^(nlohmann|CLI)/")


def room_of(path):
    return next((room for prefix, room in ROOMS if path.startswith(prefix)), None)


def resolve(name, includer, files):
    """The file of ours that an include names, looked for as the compiler does; None when it is nobody's here."""
    beside = os.path.dirname(includer)
    mirrored = beside.replace("/tests", "/src", 1)  # tests see the private headers of the room they test
    for folder in [beside, mirrored] + INCLUDE_FOLDERS:
        candidate = os.path.normpath(f"{folder}/{name}").replace(os.sep, "/")
        for written in (candidate, candidate + ".in"):
            if written in files:
                return written
    return None


def check_file(root, path, files):
    room = room_of(path)
    if room is None:
        yield Finding(path, 1, "C++ outside the rooms of lib, reference, harness and tools")
        return
    for number, line in enumerate(source_tree.read_lines(root, path), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match["name"]
        target = resolve(name, path, files)
        if target is None:
            if match["quote"] == '"':
                yield Finding(path, number, f'"{name}" names no file here; other people\'s headers take <>')
            elif path.startswith(("lib/include/", "lib/src/")) and NO_PARSERS.match(name):
                yield Finding(path, number, f"the library parses no JSON and no command line: <{name}>")
            continue
        there = room_of(target)
        if there not in ALLOWED[room]:
            yield Finding(path, number, f"{room} may not include {there} ({target})")
        elif room == there == "fabric" and {*path.split("/")[3:4]} != {*target.split("/")[3:4]} and target.count("/") > 3:
            yield Finding(path, number, f"one fabric may not include another ({target})")


def check(root):
    files = source_tree.list_files(root)
    known = set(files)
    return [finding for path in files if path.endswith(source_tree.CXX) for finding in check_file(root, path, known)]


if __name__ == "__main__":
    sys.exit(source_tree.main(check, __doc__))
