#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which cases run, what a dry run and bad input say, and JUnit files. Arguments as program_run.py says."""
import os
import subprocess
import unittest
import xml.etree.ElementTree

from program_run import RECORD_TESTS, XMLLINT, Run


class Choice(Run):
    def ids(self, where):
        return [case["id"] for case in self.cases_in(where)]

    def test_shards_hold_every_case_once(self):
        self.run_program("run", "small", "--out", "all")
        parts = []
        for index in (1, 2, 3):
            self.run_program("run", "small", "--shard", f"{index}/3", "--out", f"part{index}")
            parts += self.ids(f"part{index}")
        self.assertEqual(sorted(parts), sorted(self.ids("all")))

    def test_an_empty_shard_says_so(self):
        done = self.run_program("run", "small", "--shard", "9/9")
        self.assertIn("shard 9/9 is empty: the first 8 of the shards hold the 8 cases one each", done.stdout)
        self.assertEqual(self.cases_in(), [])
        self.assertEqual(self.summary()["meaning"], "no case was dealt to this shard")

    def test_a_dry_run_knows_what_a_run_moves(self):
        done = self.run_program("run", "small", "--dry-run", "--json", "--cases")
        plan, = self.check_lines(done.stdout)
        self.assertFalse((self.folder / "records").exists())
        self.run_program("run", "small")
        moved = {case["id"]: case["remote_bytes"] for case in self.cases_in()}
        self.assertEqual({each["id"]: each["remote_bytes"] for each in plan["plan"]}, moved)
        self.assertEqual(plan["remote_bytes"], sum(moved.values()))
        returned = {case["id"]: case["returned_bytes"] for case in self.cases_in()}
        self.assertEqual({each["id"]: each["returned_bytes"] for each in plan["plan"]}, returned)
        self.assertEqual(plan["returned_bytes"], sum(returned.values()))
        self.assertTrue(plan["exact"])

    def test_a_dry_run_above_the_limit(self):
        for more in ([], ["--json"], ["--quiet"]):
            done = self.run_program("run", "small", "--dry-run", "--arena-bytes", "1K", *more, code=5)
            if more == ["--json"]:
                self.assertEqual(self.check_lines(done.stdout)[0]["limit_bytes"], 1024)
            else:
                self.assertIn("would be refused: case small/s@", done.stdout)
        self.suite("huge", ranks=6, tokens=1000000, steps=1000)
        done = self.run_program("run", "huge", "--dry-run", "--arena-bytes", "1000G")
        self.assertRegex(done.stdout, r"nothing was run: 1 case, about [\d.]+ TB to other ranks and [\d.]+ TB back, arena of [\d.]+ GB")

    def test_quiet_is_one_line(self):
        done = self.run_program("run", "small", "--quiet")
        self.assertRegex(done.stdout, r"\A8 cases: 8 pass; exit code 0; records: records/[^\n]+\.jsonl\n\Z")


class BadInput(Run):
    def expect_one_error(self, arguments, *parts):
        done = self.run_program("run", *arguments, "--json", code=5)
        error, = self.check_lines(done.stdout)
        self.assertEqual(error["exit_code"], 5)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("switchyard: "), done.stderr)
        self.assertTrue(done.stderr[:-1].isprintable(), repr(done.stderr))
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertFalse((self.folder / "records").exists())

    def test_99_ranks_of_6_experts(self):
        self.expect_one_error(["small", "--ranks", "99"], "--ranks: 99: must be at most num_experts (6)")
        self.suite("many", ranks=99, tokens=1)
        self.expect_one_error(["many"], "many.json: /scenarios/0/ranks: 99: must be at most num_experts (6)")

    def test_usage(self):
        self.expect_one_error(["small", "--none"], "--none")
        for shard in ("3/2", "0/2", "1", "1/", "/1", "a/b", "1/2/3", "01/2", "-1/2", "1/1000001"):
            self.expect_one_error(["small", f"--shard={shard}"], f"--shard: {shard}: must be I/N, two integers")
        self.expect_one_error(["small", "--resume", "none.jsonl"], "none.jsonl: cannot be opened for writing: ")
        self.expect_one_error(["small", "--resume", "none.json"], "none.json: must be the .jsonl file of a run")
        self.expect_one_error(["small", "--resume", "a.jsonl", "--out", "b"], "--out excludes --resume")
        self.expect_one_error(["small", "--quiet"], "excludes")
        self.expect_one_error(["small", "--cases"], "--cases requires --dry-run")

    def test_numbers_that_are_none(self):
        for number in ("1e400", "-1e400"):
            (self.scenarios / "big.json").write_text('{"suite": "big", "scenarios": [{"tokens": %s}]}' % number)
            self.expect_one_error(["big"], f"big.json: /scenarios/0/tokens: {number}: must be a number that a double")
        (self.scenarios / "big.json").write_text('{"suite": "big", "scenarios": [{"tokens": NaN}]}')
        self.expect_one_error(["big"], "big.json: line 1, column")

    def test_text_that_hides(self):
        self.suite("rtl", ranks=2, tokens=1, variation="a\u202eb\x00c\x1b[31md\x85\u2028e\u200b")
        self.expect_one_error(["rtl"], "rtl.json: /scenarios/0/variation: ", r"\u202e", r"\u0000", r"\u001b", r"\u0085",
                              r"\u2028", r"\u200b")
        self.expect_one_error(["./a\nb\u202e.json"], r"./a\nb\u202e.json: no such file")
        self.expect_one_error([os.fsdecode(b"./\xff.json")], r"./\xff.json: no such file")
        self.expect_one_error(["--case", "small/s@ranks=\u202e2"], r"\u202e2: must be an integer")


class JUnit(Run):
    def both_readers(self, path):
        """The tree, when Python's expat and libxml2 read the same texts out of it."""
        subprocess.run([XMLLINT, "--noout", path], check=True)
        root = xml.etree.ElementTree.parse(path).getroot()
        for expression, mine in (("string(//failure/@message)", root.find(".//failure").get("message")
                                  if root.find(".//failure") is not None else ""),
                                 ("string(//failure)", root.findtext(".//failure") or ""),
                                 ("string(//system-out)", root.findtext(".//system-out")),
                                 ("count(//testcase)", str(len(root.findall(".//testcase"))))):
            other = subprocess.run([XMLLINT, "--xpath", expression, path], check=True, capture_output=True).stdout
            self.assertEqual(other.decode().rstrip("\n"), mine.rstrip("\n"), expression)  # it ends its output by one
        return root

    def test_a_run(self):
        self.run_program("run", "small", "hasty", "--junit", "j.xml", code=2)
        root = self.both_readers(self.folder / "j.xml")
        self.assertEqual([(suite.get("name"), suite.get("tests"), suite.get("failures"))
                          for suite in root.iter("testsuite")], [("small.s", "8", "0"), ("hasty.s", "1", "1")])
        case, = root.iterfind(".//testcase[failure]")
        self.assertEqual(case.get("name"), "hasty/s")
        self.assertIn("wrong_fault: ", case.findtext("failure"))
        self.assertIn("run --scenarios ", case.findtext("system-out"))
        self.assertGreater(float(case.get("time")), 0)
        self.assertEqual(len(self.cases_in()), 9)

    def test_hostile_texts(self):
        subprocess.run([RECORD_TESTS, "--gtest_filter=junit.*"], env={**os.environ, "TEST_TMPDIR": str(self.folder)},
                       check=True, capture_output=True)
        root = self.both_readers(self.folder / "switchyard_hostile_junit.xml")
        expected = "<&\"'>]]>\t\n\r\x7f\ufffd\u202eü漢😀"
        self.assertEqual(root.find(".//failure").get("message"), expected)
        self.assertEqual(root.find(".//error").get("message"), expected)
        self.assertEqual(root.find(".//skipped").get("message"), "skipped: " + expected)
        self.assertIn("rank 1: " + expected, root.findtext(".//failure"))
        self.assertTrue(root.findtext(".//system-out").startswith("repeat: " + expected))


if __name__ == "__main__":
    unittest.main(verbosity=1)
