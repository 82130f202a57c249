# SPDX-License-Identifier: Apache-2.0
"""check_sources finds each broken rule, and does not take comments, literals and members for one."""
import io
import unittest
from contextlib import redirect_stderr, redirect_stdout

from planted_tree import HEADER, LICENCE, PlantedTree

import check_sources
import source_tree

LIBRARY_SINS = [
    ('std::cout << "x";', "prints nothing"),
    ('std::cerr << "x";', "prints nothing"),
    ("#include <iostream>", "prints nothing"),
    ('printf("x");', "prints nothing"),
    ('std::fprintf(stderr, "x");', "prints nothing"),
    ('std::puts("x");', "prints nothing"),
    ("write(STDERR_FILENO, text, 3);", "prints nothing"),
    ('const char* value = std::getenv("X");', "reads no environment"),
    ("std::exit(1);", "ends no process"),
    ("::_exit(1);", "ends no process"),
    ("if (broken) std::abort();", "ends no process"),
    ("if (broken) ::abort();", "ends no process"),
    ("if (broken) abort();", "ends no process"),
    ("std::terminate();", "ends no process"),
    ("__builtin_trap();", "ends no process"),
]

LIBRARY_VIRTUES = [
    "std::snprintf(text, bytes, format);",
    "void abort(std::string_view reason);",
    "impl_->abort(reason);",
    "virtual void abort() = 0;",
    "fabric_->abort();",
    'peer.abort("late");',
    "// printf() and abort() are for programs",
    "/* std::exit(1) \n std::abort() */",
    'throw std::runtime_error("printf(x) or std::abort()");',
    'auto text = R"(std::cout << getenv("X");)";',
    "const int many = 1'000'000; wait_exit(many); environment(many);",
]


class CheckSources(PlantedTree):

    def findings(self):
        return check_sources.check(self.root)

    def test_library_sins(self):
        for sin, words in LIBRARY_SINS:
            for path in ("lib/src/sin.cpp", "lib/include/switchyard/sin.hpp"):
                with self.subTest(sin=sin, path=path):
                    self.write(path, HEADER + sin + "\n")
                    found = self.findings()
                    self.assert_found(found, path, 3, words)
                    self.write(path, HEADER)

    def test_library_virtues(self):
        for virtue in LIBRARY_VIRTUES:
            with self.subTest(virtue=virtue):
                self.write("lib/src/virtue.cpp", HEADER + virtue + "\n")
                self.assertEqual(self.findings(), [])

    def test_programs_and_tests_may_print(self):
        for path in ("tools/src/main.cpp", "lib/tests/talk.cpp", "harness/src/run/progress.cpp"):
            self.write(path, HEADER + 'std::cout << "x"; std::exit(0);\n')
        self.assertEqual(self.findings(), [])

    def test_pragma_once(self):
        self.write("harness/include/a.hpp", LICENCE + "// #pragma once\n")
        self.write("harness/src/a.cpp", LICENCE)
        found = self.findings()
        self.assert_found(found, "harness/include/a.hpp", 1, "#pragma once")
        self.assertEqual(len(found), 1)

    def test_licence(self):
        self.write("harness/src/a.cpp", "int a;\n\n\n" + LICENCE)
        self.write("tools/b.py", "print(1)\n")
        self.write("tools/c", "#!/usr/bin/env bash\ntrue\n")
        self.write("notes.md", "no licence line is due here\n")
        found = self.findings()
        for path in ("harness/src/a.cpp", "tools/b.py", "tools/c"):
            self.assert_found(found, path, 1, "SPDX")
        self.assertEqual(len(found), 3)

    def test_length(self):
        for lines, path in ((300, "a"), (301, "b"), (400, "c"), (401, "d")):
            self.write(f"harness/src/{path}.cpp", LICENCE + "\n" * (lines - 1))
        self.write("long.md", "text\n" * 500)
        found = self.findings()
        self.assertEqual([(f.path, f.warning) for f in found],
                         [("harness/src/b.cpp", True), ("harness/src/c.cpp", True), ("harness/src/d.cpp", False)])

    def test_marks_and_paths(self):
        mark = "TO" + "DO"
        folder = "/" + "home/" + "somebody/x"
        self.write("README.md", f"see {folder}\n")
        self.write("harness/src/a.cpp", LICENCE + f"// {mark}: mend\n" + f'auto path = "{folder}";\n')
        self.write("harness/src/b.cpp", LICENCE + f"// {mark}_list, lib{folder}, https://example.org{folder}\n")
        found = self.findings()
        self.assert_found(found, "README.md", 1, "absolute path")
        self.assert_found(found, "harness/src/a.cpp", 2, "left-over mark")
        self.assert_found(found, "harness/src/a.cpp", 3, "absolute path")
        self.assertEqual(len(found), 3)

    def test_files_that_are_not_text_are_passed_over(self):
        self.write("picture.bin", "")
        with open(self.root + "/picture.bin", "wb") as file:
            file.write(b"\xff\xfe\x00\x80")
        self.assertEqual(self.findings(), [])

    def test_exit_code_counts_errors_and_not_warnings(self):
        self.write("harness/src/long.cpp", LICENCE + "\n" * 320)
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()):
            self.assertEqual(source_tree.run(check_sources.check, self.root), 0)
            self.write("harness/src/a.cpp", "int a;\n")
            self.assertEqual(source_tree.run(check_sources.check, self.root), 2)
        self.assertIn("harness/src/long.cpp:321: warning: 321 lines", out.getvalue())


if __name__ == "__main__":
    unittest.main()
