# SPDX-License-Identifier: Apache-2.0
"""check_includes finds each forbidden direction and accepts each allowed one."""
import unittest

from planted_tree import HEADER, PlantedTree

import check_includes

HEADERS = {
    "spec": "lib/include/switchyard/spec/dtypes.hpp",
    "lib words": "lib/include/switchyard/config.hpp",
    "lib class": "lib/include/switchyard/one_sided_all_to_all.hpp",
    "layout": "lib/src/layout/table.hpp",
    "protocol": "lib/src/protocol/phase.hpp",
    "fabric": "lib/src/fabric/fabric.hpp",
    "comm": "lib/src/comm/in_process.hpp",
    "lib top": "lib/src/checks.hpp",
    "lib tests": "lib/tests/group.hpp",
    "reference": "reference/include/switchyard/reference/golden_model.hpp",
    "reference src": "reference/src/blocks.hpp",
    "reference tests": "reference/tests/rows.hpp",
    "harness": "harness/include/switchyard/harness/arena.hpp",
    "harness src": "harness/src/run/plan.hpp",
    "harness tests": "harness/tests/run/planted.hpp",
    "tools": "tools/src/command.hpp",
}

FORBIDDEN = [
    ("spec", "lib words"), ("lib words", "lib class"), ("lib words", "layout"),
    ("layout", "protocol"), ("layout", "fabric"), ("layout", "lib class"), ("layout", "comm"),
    ("protocol", "fabric"), ("protocol", "comm"), ("protocol", "lib top"),
    ("fabric", "comm"), ("comm", "fabric"), ("comm", "protocol"),
    ("lib top", "reference"), ("lib top", "harness"), ("lib tests", "reference"), ("lib class", "harness"),
    ("reference", "lib words"), ("reference src", "lib words"), ("reference src", "layout"),
    ("reference tests", "lib words"), ("reference src", "harness"),
    ("harness", "layout"), ("harness src", "fabric"), ("harness src", "reference src"), ("harness src", "tools"),
    ("harness tests", "reference src"), ("harness tests", "tools"),
    ("tools", "protocol"), ("tools", "harness src"), ("tools", "reference src"),
]

ALLOWED = [
    ("lib words", "spec"), ("lib class", "lib words"), ("layout", "lib words"), ("protocol", "layout"),
    ("fabric", "protocol"), ("comm", "lib words"), ("lib top", "fabric"), ("lib top", "comm"), ("lib tests", "protocol"),
    ("reference", "spec"), ("reference src", "reference"), ("reference tests", "reference src"),
    ("harness", "reference"), ("harness src", "lib class"), ("harness tests", "fabric"), ("harness tests", "harness src"),
    ("tools", "harness"), ("tools", "lib class"), ("tools", "reference"),
]


def name_of(path):
    """As a source writes it: below the include folder, or below src or tests of the component."""
    for folder in check_includes.INCLUDE_FOLDERS:
        if path.startswith(folder + "/"):
            return path[len(folder) + 1:]
    raise AssertionError(path)


class CheckIncludes(PlantedTree):

    def setUp(self):
        super().setUp()
        for path in HEADERS.values():
            self.write(path, HEADER)

    def findings(self):
        return check_includes.check(self.root)

    def include(self, includer, target):
        self.write(HEADERS[includer], HEADER + f'#include "{name_of(HEADERS[target])}"\n')

    def test_a_tree_without_includes_is_clean(self):
        self.assertEqual(self.findings(), [])

    def test_forbidden_directions(self):
        for includer, target in FORBIDDEN:
            with self.subTest(includer=includer, target=target):
                self.include(includer, target)
                found = self.findings()
                self.assert_found(found, HEADERS[includer], 3, f"{includer} may not include {target}")
                self.assertEqual(len(found), 1)
                self.write(HEADERS[includer], HEADER)

    def test_allowed_directions(self):
        for includer, target in ALLOWED:
            with self.subTest(includer=includer, target=target):
                self.include(includer, target)
                self.assertEqual(self.findings(), [])
                self.write(HEADERS[includer], HEADER)

    def test_angle_brackets_hide_nothing(self):
        self.write("reference/src/sums.cpp", HEADER + "#include <switchyard/config.hpp>\n")
        self.assert_found(self.findings(), "reference/src/sums.cpp", 3, "may not include lib words")

    def test_relative_paths_hide_nothing(self):
        self.write("reference/src/sums.cpp", HEADER + '#  include "../../lib/src/layout/table.hpp"\n')
        self.assert_found(self.findings(), "reference/src/sums.cpp", 3, "may not include layout")

    def test_a_quoted_name_that_is_not_ours(self):
        self.write("harness/src/run/case.cpp", HEADER + '#include "nlohmann/json.hpp"\n')
        self.assert_found(self.findings(), "harness/src/run/case.cpp", 3, "names no file here")

    def test_a_configured_header_is_ours(self):
        self.write("lib/include/switchyard/version.hpp.in", HEADER)
        self.write("tools/src/main.cpp", HEADER + '#include "switchyard/version.hpp"\n#include <CLI/CLI.hpp>\n')
        self.assertEqual(self.findings(), [])

    def test_tests_see_the_room_that_they_mirror(self):
        self.write("harness/tests/run/plan_test.cpp", HEADER + '#include "plan.hpp"\n')
        self.assertEqual(self.findings(), [])
        self.write("harness/tests/record/plan_test.cpp", HEADER + '#include "plan.hpp"\n')
        self.assert_found(self.findings(), "harness/tests/record/plan_test.cpp", 3, "names no file here")

    def test_the_library_parses_nothing(self):
        self.write("lib/src/config.cpp", HEADER + "#include <vector>\n#include <nlohmann/json.hpp>\n")
        found = self.findings()
        self.assert_found(found, "lib/src/config.cpp", 4, "parses no JSON")
        self.assertEqual(len(found), 1)

    def test_fabrics_do_not_know_each_other(self):
        self.write("lib/src/fabric/host/block.hpp", HEADER + '#include "fabric/fabric.hpp"\n')
        self.write("lib/src/fabric/host/memory.cpp", HEADER + '#include "fabric/host/block.hpp"\n')
        self.assertEqual(self.findings(), [])
        self.write("lib/src/fabric/cuda/block.hpp", HEADER + '#include "fabric/host/block.hpp"\n')
        self.assert_found(self.findings(), "lib/src/fabric/cuda/block.hpp", 3, "one fabric may not include another")

    def test_the_consumer_sees_what_is_installed(self):
        self.write("lib/tests/consumer/main.cpp", HEADER + '#include "layout/table.hpp"\n')
        self.assert_found(self.findings(), "lib/tests/consumer/main.cpp", 3, "may not include layout")

    def test_a_file_outside_the_rooms(self):
        self.write("extra/thing.cpp", HEADER)
        self.assert_found(self.findings(), "extra/thing.cpp", 1, "outside the rooms")


if __name__ == "__main__":
    unittest.main()
