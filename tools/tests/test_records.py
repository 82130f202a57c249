#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the program writes, read by others: JSON Schema, two readers of XML, and a reader that takes no NaN.

usage: test_records.py PROGRAM SCHEMA VERDICT_TESTS RECORD_TESTS XMLLINT [UNITTEST_ARGUMENT...]

Runs that pass, fail, fault, are stopped, are killed, and whose disk is full: whatever happens, records parse, hold the
cases so far, and obey the schema.
"""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

import jsonschema

if len(sys.argv) < 6:
    sys.exit(__doc__)
PROGRAM, SCHEMA, VERDICT_TESTS, RECORD_TESTS, XMLLINT = sys.argv[1:6]
del sys.argv[1:6]

with open(SCHEMA, encoding="utf-8") as schema_file:
    VALIDATOR = jsonschema.Draft202012Validator(json.load(schema_file))

PROFILES = {"description": "d", "profiles": {"tiny": {"hidden_size": 64, "top_k": 2, "num_experts": 6, "dtype": "bf16",
                                                      "dispatch_format": "bf16"}}}


def no_constant(text):
    raise ValueError(f"{text} is no JSON")


def parse(line):
    return json.loads(line, parse_constant=no_constant)


def without_time(case):
    return {key: value for key, value in case.items() if key != "time"}


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="switchyard_records_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.scenarios = self.folder / "scenarios"
        self.scenarios.mkdir()
        (self.scenarios / "profiles.json").write_text(json.dumps(PROFILES))
        self.suite("small", steps=2, sweep={"ranks": [1, 2], "tokens": [0, 5], "variation": ["fixed", "vary"]})
        self.suite("slow", ranks=2, tokens=1, steps=40, late_us=20000, sweep={"extra_bytes": list(range(20))})
        self.suite("absent", ranks=3, tokens=4, steps=2, timeout_ms=200, expected_fault="timeout",
                   absent={"rank": 1, "step": 1}, sweep={"absent.phase": ["dispatch", "combine"]})
        # A deadline of a millisecond that ranks arriving up to 0.2 s apart cannot keep.
        self.suite("hasty", ranks=2, tokens=1, steps=20, timeout_ms=1, late_us=200000)
        # Waits a minute for a rank that does not come.
        self.suite("stuck", ranks=3, tokens=4, steps=2, timeout_ms=60000, expected_fault="timeout",
                   absent={"rank": 1, "step": 1})

    def suite(self, name, sweep=None, **fields):
        scenario = {"name": "s", "sentence": "x", "profile": "tiny", **fields}
        if sweep:
            scenario["sweep"] = {"kind": "product", "axes": sweep}
        text = json.dumps({"suite": name, "description": "d", "scenarios": [scenario]})
        (self.scenarios / f"{name}.json").write_text(text)

    def command(self, *arguments):
        return [PROGRAM, *arguments, "--scenarios", str(self.scenarios)]

    def start(self, *arguments, **how):
        return subprocess.Popen(self.command(*arguments), cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **how)

    def run_program(self, *arguments, code=0, **how):
        done = subprocess.run(self.command(*arguments), cwd=self.folder, text=True, capture_output=True, check=False,
                              timeout=120, **how)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def check(self, record):
        problem = jsonschema.exceptions.best_match(VALIDATOR.iter_errors(record))
        if problem:
            self.fail(f"/{'/'.join(map(str, problem.absolute_path))}: {problem.message[:300]}\n{json.dumps(record)[:300]}")

    def check_lines(self, text):
        self.assertTrue(text.endswith("\n"), text[-80:])
        records = [parse(line) for line in text.split("\n")[:-1]]
        for record in records:
            self.check(record)
        return records

    def only(self, pattern, where="records"):
        found = sorted((self.folder / where).glob(pattern))
        self.assertEqual(len(found), 1, found)
        return found[0]

    def cases_in(self, where="records"):
        """The case records of the one run in a folder; header and summary are checked on the way."""
        records = self.check_lines(self.only("*.jsonl", where).read_text())
        self.assertEqual([record["record"] for record in records], ["header"] + ["case"] * (len(records) - 1))
        self.check(parse(self.only("*.summary.json", where).read_text()))
        return records[1:]

    def summary(self, where="records"):
        return parse(self.only("*.summary.json", where).read_text())

    def wait_for(self, what):
        give_up = time.monotonic() + 30
        while not what():
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.005)


class Records(Run):
    def test_a_run_that_passes(self):
        self.run_program("run", "small")
        self.assertEqual([case["status"] for case in self.cases_in()], ["pass"] * 8)

    def test_the_stream_is_the_records_and_the_summary(self):
        done = self.run_program("run", "small", "--json")
        self.assertEqual(done.stderr, "")
        records = self.check_lines(done.stdout)
        self.assertEqual(records[-1], self.summary())
        lines = done.stdout.splitlines(keepends=True)
        self.assertEqual("".join(lines[:-1]), self.only("*.jsonl").read_text())

    def test_a_run_that_times_out(self):
        self.run_program("run", "hasty", code=2)
        case, = self.cases_in()
        self.assertEqual(case["status"], "timeout")
        self.assertTrue(case["reason"] and case["faults"] and case["findings"])

    def test_a_fault_that_was_due(self):
        self.run_program("run", "absent")
        for case in self.cases_in():
            self.assertEqual(case["status"], "pass")
            self.assertEqual([fault["missing"] for fault in case["time"]["faults"]], [[1], [1]])

    def test_same_seed_same_bytes(self):
        for where in ("a", "b"):
            self.run_program("run", "small", "absent", "--seed", "7", "--out", where)
        self.run_program("run", "small", "absent", "--seed", "8", "--out", "c")
        first, second, other = ([json.dumps(without_time(case)) for case in self.cases_in(where)] for where in "abc")
        self.assertEqual(first, second)
        self.assertNotEqual(first, other)

    def test_real_findings_of_every_verdict(self):
        done = subprocess.run([VERDICT_TESTS], env={**os.environ, "TEST_TMPDIR": str(self.folder)}, check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        records = self.check_lines((self.folder / "switchyard_every_verdict.jsonl").read_text())
        verdicts = VALIDATOR.schema["$defs"]["finding"]["properties"]["verdict"]["enum"]
        self.assertEqual({case["findings"][0]["verdict"] for case in records[1:]}, set(verdicts))
        mismatch = self.check_lines((self.folder / "switchyard_mismatch.jsonl").read_text())[1]
        self.assertEqual(mismatch["status"], "fail")
        self.assertIn("step_mismatch", {fault["code"] for fault in mismatch["faults"]})

    def test_explain_reads_a_record(self):
        self.run_program("run", "hasty", code=2)
        for which in ("2", "hasty/s"):
            text = self.run_program("explain", f"{self.only('*.jsonl')}:{which}").stdout
            self.assertIn("hasty/s: timeout with seed 1", text)
            self.assertIn("wrong_fault (verdict)", text)
            self.assertIn("timeout (fault code)", text)
        for which, rule in (("1", "must be the line of a case, 2 to 2"), ("none", "no record of a case with this id")):
            self.assertIn(rule, self.run_program("explain", f"{self.only('*.jsonl')}:{which}", code=5).stderr)


class Stopped(Run):
    def test_ctrl_c_inside_a_case(self):
        child = self.start("run", "small", "stuck", "--json")
        lines = [child.stdout.readline() for _ in range(9)]  # the header and all of small: now it is stuck
        time.sleep(0.3)
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 5)  # about a second where nothing else runs
        self.assertEqual(child.returncode, 2)
        self.assertEqual(len(self.cases_in()), 8)  # the case that was left is no result
        records = self.check_lines("".join(lines) + out)
        self.assertEqual([record["record"] for record in records[-2:]], ["error", "summary"])
        self.assertEqual(records[-2]["message"], "stopped: 1 case has no record and counts as missing")
        self.assertEqual(err.splitlines()[-1], "switchyard: " + records[-2]["message"])
        self.assertEqual(records[-1]["cases"]["missing"], 1)

    def test_a_stopped_run_is_resumed(self):
        child = self.start("run", "slow", "--out", "a")
        self.wait_for(lambda: list((self.folder / "a").glob("*.jsonl"))
                      and self.only("*.jsonl", "a").read_text().count("\n") > 2)
        child.send_signal(signal.SIGTERM)
        out, _ = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 2, out)
        done_first = len(self.cases_in("a"))
        self.assertIn(done_first, range(1, 20))
        self.assertEqual(self.summary("a")["cases"]["missing"], 20 - done_first)
        records = self.only("*.jsonl", "a")
        go_on = next(line for line in out.splitlines() if line.startswith("to go on: "))
        self.assertTrue(go_on.endswith(f"--resume a/{records.name}"), go_on)
        self.assertNotIn("--out", go_on)

        before = records.read_text()
        with open(records, "a", encoding="utf-8") as torn:
            torn.write('{"record":"case","id":"slow/s@extra')
        out = self.run_program("run", "slow", "--resume", str(records), "--junit", "j.xml").stdout
        self.assertIn(f"resumed: {done_first} of 20 cases are recorded; a torn last line was cut off", out)
        self.assertTrue(records.read_text().startswith(before))
        self.assertEqual(self.summary("a")["cases"]["pass"], 20)
        self.assertEqual(xml.etree.ElementTree.parse(self.folder / "j.xml").getroot().get("tests"), "20")
        self.run_program("run", "slow", "--out", "b")
        self.assertEqual([without_time(case) for case in self.cases_in("a")],
                         [without_time(case) for case in self.cases_in("b")])
        # Nothing is left to do: nothing is run, and the verdict stands.
        done = self.run_program("run", "slow", "--resume", str(records), "--json")
        self.assertEqual(len(done.stdout.splitlines()), 22)

    def test_a_resumed_failure_still_fails(self):
        self.run_program("run", "hasty", code=2)
        out = self.run_program("run", "hasty", "--resume", str(self.only("*.jsonl")), code=2).stdout
        self.assertIn("timeout hasty/s: ", out)

    def test_other_records_are_not_resumed(self):
        self.run_program("run", "small")
        records = str(self.only("*.jsonl"))
        before = self.only("*.jsonl").read_text()
        for arguments, message in (
                (["small", "--seed", "2"], "/run/seed: 1: must be 2, as in this run, to be resumed"),
                (["small", "--shard", "1/2"], "/run/shard: null: must be "),
                (["slow"], "/run/selection: "),
                (["small", "--filter", "*"], "/run/selection: ")):
            done = self.run_program("run", *arguments, "--resume", records, "--json", code=5)
            self.assertIn(message, done.stderr)
            self.assertEqual(self.check_lines(done.stdout)[0]["exit_code"], 5)
        self.suite("small", steps=3, sweep={"ranks": [1, 2], "tokens": [0, 5], "variation": ["fixed", "vary"]})
        self.assertIn("the scenarios have changed since", self.run_program("run", "small", "--resume", records,
                                                                           code=5).stderr)
        self.assertEqual(self.only("*.jsonl").read_text(), before)

    def test_a_killed_run_leaves_whole_lines(self):
        child = self.start("run", "slow")
        self.wait_for(lambda: list((self.folder / "records").glob("*.jsonl"))
                      and self.only("*.jsonl").read_text().count("\n") > 2)
        child.kill()
        child.communicate()
        self.check_lines(self.only("*.jsonl").read_text())

    def test_the_first_failure_ends_the_run(self):
        self.run_program("run", "hasty", "small", "--fail-fast", "--quiet", code=2)
        self.assertEqual(len(self.cases_in()), 1)
        self.assertEqual(self.summary()["cases"]["missing"], 8)


class Disk(Run):
    def test_a_full_disk(self):
        self.run_program("run", "small", "--out", "whole")
        lines = self.only("*.jsonl", "whole").read_text().splitlines(keepends=True)
        room = sum(map(len, lines[:4])) + 300  # three cases, and a part of the fourth

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        done = self.run_program("run", "small", code=2, preexec_fn=limit)
        self.assertIn("a record could not be written: ", done.stdout)
        self.assertIn("5 cases have no record and count as missing", done.stdout)
        self.assertEqual(len(self.cases_in()), 3)
        self.assertEqual(self.summary()["cases"]["missing"], 5)

    def test_no_room_for_the_header(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        done = self.run_program("run", "small", code=5, preexec_fn=limit)
        self.assertIn("a record could not be written: ", done.stderr)
        self.assertEqual(list((self.folder / "records").iterdir()), [])

    def test_no_room_for_the_summary(self):
        self.suite("one", ranks=1, tokens=1)
        (self.folder / "records").mkdir()
        # The temporary of the summary cannot be made where a folder has its name.
        child = self.start("run", "slow", "--filter", "*extra_bytes=1", "--json")
        self.wait_for(lambda: list((self.folder / "records").glob("*.jsonl")))
        records = self.only("*.jsonl")
        (records.parent / f"{records.stem}.summary.json.tmp").mkdir()
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 3, err)
        self.assertIn("summary.json: cannot be created: ", err)
        self.assertEqual([record["record"] for record in self.check_lines(out)], ["header", "case", "error", "summary"])

    def test_output_that_goes_nowhere(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(self.command("run", "small"), cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output could not be written", done.stderr)
        self.assertEqual(len(self.cases_in()), 8)

    def test_junit_files_that_cannot_be_are_refused_before_the_first_case(self):
        for path in ("/dev/full", "none/j.xml", "scenarios"):
            done = self.run_program("run", "small", "--junit", path, code=5)
            self.assertIn(f"switchyard: --junit: {path}: ", done.stderr)
        self.assertFalse((self.folder / "records").exists())


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
        self.assertRegex(done.stdout, r"nothing was run: 1 case, about \d+(\.\d+)? TB to other ranks, arena of \d+(\.\d+)? GB")

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
        self.expect_one_error(["small", "--shard", "3/2"], "--shard: 3/2: must be I/N")
        self.expect_one_error(["small", "--cases"], "--cases requires --dry-run")

    def test_numbers_that_are_none(self):
        for number in ("1e400", "-1e400"):
            (self.scenarios / "big.json").write_text('{"suite": "big", "scenarios": [{"tokens": %s}]}' % number)
            self.expect_one_error(["big"], f"big.json: /scenarios/0/tokens: {number}: must be a number that a double can")
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
