# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program from outside share: scenarios to run, and readers that forgive nothing.

The first five arguments of a test are PROGRAM SCHEMA VERDICT_TESTS RECORD_TESTS XMLLINT; the rest is unittest's.
"""
import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import jsonschema

if len(sys.argv) < 6:
    sys.exit(f"usage: {sys.argv[0]} PROGRAM SCHEMA VERDICT_TESTS RECORD_TESTS XMLLINT [UNITTEST_ARGUMENT...]")
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
        self.suite("slow", ranks=2, tokens=1, steps=12, late_us=20000, sweep={"extra_bytes": list(range(20))})
        self.suite("stopped", ranks=3, tokens=4, steps=2, timeout_ms=200, expected_fault="timeout",
                   inject={"kind": "stop", "rank": 1, "step": 1}, sweep={"inject.phase": ["dispatch", "combine"]})
        # A deadline of a millisecond that ranks arriving up to 0.2 s apart cannot keep.
        self.suite("hasty", ranks=2, tokens=1, steps=20, timeout_ms=1, late_us=200000)
        # Waits a minute for a rank that does not come.
        self.suite("stuck", ranks=3, tokens=4, steps=2, timeout_ms=60000, expected_fault="timeout",
                   inject={"kind": "stop", "rank": 1, "step": 1})

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
            place = "/".join(map(str, problem.absolute_path))
            self.fail(f"/{place}: {problem.message[:300]}\n{json.dumps(record)[:300]}")

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
