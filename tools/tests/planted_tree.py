# SPDX-License-Identifier: Apache-2.0
"""A temporary tree of files for the tests of the checks."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = LICENCE + "#pragma once\n"


class PlantedTree(unittest.TestCase):
    """Each test writes files below self.root and looks at what a check finds there."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def assert_found(self, findings, path, line, words):
        hits = [f for f in findings if f.path == path and f.line == line and words in f.text]
        self.assertTrue(hits, f"nothing with '{words}' at {path}:{line} in {[str(f) for f in findings]}")
