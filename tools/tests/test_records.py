#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records of runs that pass, fail, fault, are stopped, are killed, and whose disk is full.

Whatever happens, records parse, hold the cases so far, and obey the schema. Arguments as program_run.py says.
"""
import json
import os
import resource
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree

from program_run import VALIDATOR, VERDICT_TESTS, Run, without_time


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
        self.run_program("run", "stopped")
        for case in self.cases_in():
            self.assertEqual(case["status"], "pass")
            self.assertEqual([fault["missing"] for fault in case["time"]["faults"]], [[1], [1]])

    def test_same_seed_same_bytes(self):
        for where in ("a", "b"):
            self.run_program("run", "small", "stopped", "--seed", "7", "--out", where)
        self.run_program("run", "small", "stopped", "--seed", "8", "--out", "c")
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

    def test_a_changed_trace_is_another_run(self):
        traces = self.folder / "scenarios" / "traces"
        traces.mkdir()
        trace = traces / "t.jsonl"
        trace.write_text('{"step": 0, "rank": 0, "topk_ids": [[1, 2]]}\n')
        (self.folder / "scenarios" / "traced.json").write_text(json.dumps({
            "suite": "traced", "description": "d", "scenarios": [{
                "name": "s", "sentence": "x", "num_experts": 6, "top_k": 2, "hidden_size": 8, "ranks": 2,
                "routing": "trace", "trace": "t"}]}))
        self.run_program("run", "traced")
        trace.write_text('{"step": 0, "rank": 0, "topk_ids": [[1, 3]]}\n')
        refused = self.run_program("run", "traced", "--resume", str(self.only("*.jsonl")), code=5)
        self.assertIn("the scenarios have changed since", refused.stderr)

    def test_junit_replaces_nothing_else(self):
        self.run_program("run", "small")
        records = self.only("*.jsonl")
        before = records.read_text()
        refused = self.run_program("run", "small", "--junit", str(records), code=5)
        self.assertIn("is there and no XML", refused.stderr)
        self.assertEqual(records.read_text(), before)

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
        # Its temporary cannot be made where a folder has that name; the name has the second in which the run begins.
        for second in range(60):
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() + second))
            (self.folder / "records" / f"{stamp}-one.summary.json.tmp").mkdir(parents=True)
        done = self.run_program("run", "one", "--json", code=3)
        self.assertIn("summary.json: cannot be created: ", done.stderr)
        self.assertEqual([record["record"] for record in self.check_lines(done.stdout)],
                         ["header", "case", "error", "summary"])

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


if __name__ == "__main__":
    unittest.main(verbosity=1)
