# SPDX-License-Identifier: Apache-2.0
"""A bit that differs is found, and what cannot be compared is not."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import same_results


def case(name, **changes):
    record = {"record": "case", "id": name, "seed": 1, "inputs_digest": "0x1", "status": "pass",
              "spec": {"ranks": 2, "expected_fault": "none"}, "checked_bytes": 10, "results_digest": "0xabc"}
    record.update(changes)
    return record


class SameResults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compare(self, one, other, torn=""):
        paths = []
        for name, records in (("one", one), ("other", other)):
            paths.append(os.path.join(self.folder.name, name))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(json.dumps({"record": "header"}) + "\n")
                file.writelines(json.dumps(record) + "\n" for record in records)
                file.write(torn)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = same_results.main(paths)
        return code, shown.getvalue()

    def test_the_same_cases_are_the_same(self):
        code, text = self.compare([case("a"), case("b")], [case("b"), case("a")], torn='{"record": "ca')
        self.assertEqual((code, text), (0, "2 cases compared, 0 differences, 0 cases left out\n"))

    def test_other_bits_or_another_question_are_differences(self):
        for key, value in (("results_digest", "0xabd"), ("checked_bytes", 11), ("inputs_digest", "0x2"), ("seed", 2)):
            code, text = self.compare([case("a")], [case("a", **{key: value})])
            self.assertEqual(code, 2, key)
            self.assertIn(f"a: {key} is ", text)

    def test_a_case_that_did_not_pass_is_a_difference(self):
        code, text = self.compare([case("a")], [case("a", status="device_lost")])
        self.assertEqual((code, text.splitlines()[0]), (2, "a: pass, device_lost"))

    def test_nothing_to_compare_is_no_success(self):
        fault = case("f", spec={"expected_fault": "timeout"}, results_digest="0x0")
        for one, other in (([], []), ([case("a")], [case("b")]), ([fault], [fault]),
                           ([case("a")], [case("a", status="skipped")])):
            self.assertEqual(self.compare(one, other)[0], 3)

    def test_bad_files_are_told(self):
        self.assertEqual(self.compare([{"record": "case"}], [])[0], 5)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(same_results.main(["/nowhere/one", "/nowhere/other"]), 5)
            self.assertEqual(same_results.main(["one"]), 5)


if __name__ == "__main__":
    unittest.main()
