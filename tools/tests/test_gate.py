#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""switchyard compare, gate, baseline, explain of verdicts, and bench by launches of a program that makes its times up.

usage: test_gate.py PROGRAM FAKE_BENCH RESULTS [UNITTEST_ARGUMENT...]
"""
import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

PROGRAM, FAKE_BENCH, RESULTS = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="switchyard_gate_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *arguments, code=0, seconds=100):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, text=True, capture_output=True,
                              check=False, timeout=seconds)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        if code == 5:  # one clear line, and nothing that looks like a result
            self.assertRegex(done.stderr, r"\Aswitchyard: [^\n]+\n\Z")
            self.assertEqual(done.stdout, "")
        return done

    def build(self, name, *options):
        """A program that says it is a bench; each build has its own count of launches."""
        script = self.folder / name
        script.write_text(f'#!/bin/sh\nexec "{FAKE_BENCH}" --state "{self.folder}/{name}.state" {" ".join(options)} "$@"\n')
        script.chmod(0o755)
        return script

    def launch(self, name, *options, launches=10, more=(), code=0):
        out = self.folder / f"{name}.jsonl"
        self.run_program("bench", "--tokens", "1,16", "--launches", launches, "--program", self.build(name, *options),
                         "--out", out, *more, code=code)
        return out


class Gate(Program):
    def test_launches_are_compared_and_explained(self):
        base, same, slow = self.launch("base"), self.launch("same"), self.launch("slow", "--slower", "0.06")
        done = self.run_program("compare", base, same)
        self.assertIn("6 pass\n", done.stdout)
        done = self.run_program("compare", base, slow, "--out", "verdicts.jsonl", code=1)
        self.assertIn("6 regressed\n", done.stdout)
        self.assertEqual(self.run_program("compare", slow, base).stdout.count("| improved |"), 6)
        lines = [json.loads(line) for line in (self.folder / "verdicts.jsonl").read_text().splitlines()]
        self.assertEqual([line["record"] for line in lines], ["gate_verdict"] * 6 + ["gate_summary"])
        self.assertEqual(lines[-1]["exit_code"], 1)
        for which in ("2", lines[1]["scenario"]):
            told = self.run_program("explain", f"verdicts.jsonl:{which}").stdout
            self.assertIn("U test   slower in 100.0 of 100 pairs", told)
            self.assertIn("regressed (gate verdict)", told)
        self.run_program("explain", "verdicts.jsonl:9", code=5)
        done = self.run_program("compare", base, slow, "--json", code=1)
        self.assertEqual([json.loads(line) for line in done.stdout.splitlines()], lines)
        self.assertIn("6 pass\n", self.run_program("compare", base, slow, "--percent", "7").stdout)

    def test_builds_take_turns(self):
        done = self.run_program("bench", "--tokens", "1,16", "--launches", 10, "--program",
                                self.build("new", "--slower", "0.06"), "--against", self.build("old"), "--out", "new.jsonl",
                                "--against-out", "old.jsonl", code=1)
        self.assertIn("6 regressed\n", done.stdout)
        self.assertEqual(re.findall(r"launch \d+ of (the base|this build)", done.stderr)[:4],
                         ["the base", "this build", "this build", "the base"])
        self.run_program("compare", "old.jsonl", "new.jsonl", code=1)

    def test_what_is_inconclusive_is_launched_again_so_often_and_no_more(self):
        done = self.run_program("bench", "--tokens", "1,16", "--launches", 3, "--reruns", 1, "--program",
                                self.build("new"), "--against", self.build("old"))
        self.assertIn("6 pass\n", done.stdout)  # 3 launches a side are too few, 6 are enough
        self.assertIn("inconclusive: 6 scenarios", done.stderr)
        self.run_program("bench", "--tokens", "1", "--launches", 3, "--reruns", 0, "--program", self.build("new"),
                         "--against", self.build("old"), code=4)

    def test_noise_of_one_build_is_a_floor(self):
        aa = self.launch("aa", "--noise", "0.08", more=("--aa",))
        noise = [json.loads(line) for line in aa.read_text().splitlines() if '"noise"' in line]
        self.assertEqual(len(noise), 6)
        slow = self.launch("slow", "--slower", "0.03")
        self.assertNotIn("regressed", self.run_program("compare", aa, slow).stdout)
        base = self.launch("base")
        self.run_program("compare", base, slow, code=1)
        self.assertIn("6 pass", self.run_program("compare", base, slow, "--noise", aa).stdout)
        self.assertIn("note: the base has no A/A noise of 6 of 6 scenarios", self.run_program("compare", base, base).stdout)
        self.assertNotIn("A/A noise", self.run_program("compare", aa, aa).stdout)
        self.run_program("compare", base, self.launch("noisy", "--noise", "0.08", "--slower", "0.3", more=("--aa",)), code=1)
        self.run_program("compare", base, slow, "--noise", base, code=5)

    def test_a_launch_that_crashes_fails_the_comparison(self):
        base = self.launch("base")
        crashed = self.launch("crashed", "--crash-at", "3", code=2)
        self.assertIn("failed: launch 3: ended by signal 6", self.run_program("compare", base, crashed, code=2).stdout)
        done = self.run_program("compare", crashed, base)  # that of the base is known, and no fault of what is compared
        self.assertIn("note: base, launch 3: ended by signal 6", done.stdout)
        said = ("--owner", "somebody", "--reason", "enough of them")
        self.run_program("baseline", "accept", "dir", crashed, *said, code=5)
        self.run_program("baseline", "accept", "dir", crashed, *said, "--even-so")
        self.assertIn("6 pass", self.run_program("gate", "--baseline", "dir", base).stdout)
        self.run_program("bench", "--launches", 2, "--program", self.folder / "absent", "--out", "x.jsonl", code=2)
        lacking = self.folder / "lacking"
        lacking.write_text("#!/bin/sh\nexit 3\n")
        lacking.chmod(0o755)
        self.run_program("bench", "--launches", 2, "--program", lacking, "--out", "x.jsonl", code=3)
        self.run_program("bench", "--launches", 2, "--program", self.build("new"), "--against", lacking, code=3)

    def test_the_gate_takes_the_baseline_of_the_testbed(self):
        base, slow = self.launch("base", more=("--aa",)), self.launch("slow", "--slower", "0.06")
        self.run_program("gate", "--baseline", "dir", slow, code=5)  # nothing was accepted
        said = ("--owner", "somebody", "--reason", "first")
        self.run_program("baseline", "accept", "dir", base, *said)
        self.assertIn("6 regressed", self.run_program("gate", "--baseline", "dir", slow, code=1).stdout)
        self.assertIn("6 pass", self.run_program("gate", "--baseline", "dir", self.launch("same")).stdout)
        other = self.folder / "other.jsonl"
        other.write_text(slow.read_text().replace('"driver_branch":"', '"driver_branch":"9'))
        done = self.run_program("gate", "--baseline", "dir", other, code=4)
        self.assertIn("no accepted baseline of this testbed", done.stderr)
        self.assertIn("to accept one: switchyard baseline accept dir SAMPLES --owner NAME --reason TEXT", done.stderr)
        self.assertIn("not compared", self.run_program("compare", base, other, code=4).stdout)
        listed = self.run_program("baseline", "list", "dir").stdout
        self.assertIn("accept base.jsonl", listed)
        self.run_program("baseline", "reject", "dir", base, "--owner", "somebody", "--reason", "was hot")
        self.run_program("gate", "--baseline", "dir", slow, code=5)
        self.run_program("baseline", "accept", "dir", base, *said, code=5)
        self.run_program("baseline", "accept", "dir", base, *said, "--even-so")
        self.assertEqual(len((self.folder / "dir" / "log.jsonl").read_text().splitlines()), 3)

    def test_spoiled_input_never_passes(self):
        base = self.launch("base", launches=4)
        text = base.read_text()
        lines = text.splitlines(keepends=True)
        spoiled = {
            "cut": text[:len(text) // 2], "no end": "".join(lines[:-1]), "one line less": "".join(lines[:5] + lines[6:]),
            "empty": "", "no samples": lines[0] + lines[-1], "foreign schema": text.replace('"schema":1', '"schema":9', 1),
            "no JSON": "x" * 100 + "\n", "another program's": '{"context":{"date":"x"},"benchmarks":[]}\n',
            "twice": "".join(lines[:-1] * 2 + lines[-1:]), "header alone": lines[0], "binary": "\0\xff\n" * 20,
        }
        for what, bad in spoiled.items():
            with self.subTest(what):
                file = self.folder / "bad.jsonl"
                file.write_bytes(bad.encode("latin-1"))
                self.run_program("compare", base, file, code=5)
                self.run_program("compare", file, base, code=5)
        self.run_program("compare", base, self.folder / "absent", code=5)
        fewer = self.folder / "fewer.jsonl"
        kept = [line for line in lines if '"tokens=1,' not in line and "tokens=16" not in line]
        fewer.write_text("".join(lines[:1] + [line for line in lines[1:-1] if "tokens=1," in line]) +
                         '{"record":"samples_end","samples":12,"failed_launches":0}\n')
        self.assertTrue(kept)
        self.assertIn("3 missing", self.run_program("compare", base, fewer, code=2).stdout)

    def test_every_line_obeys_the_published_schema(self):
        try:
            from jsonschema import Draft202012Validator
        except ImportError:
            self.skipTest("no jsonschema")
        schema = json.loads((Path(RESULTS) / "schema" / "gate.schema.json").read_text())
        Draft202012Validator.check_schema(schema)
        aa = self.launch("aa", more=("--aa",))
        crashed = self.launch("crashed", "--crash-at", "3", code=2)
        self.run_program("compare", aa, crashed, "--out", "v.jsonl", code=2)
        self.run_program("compare", aa, self.launch("few", "--tokens", "16", "--ignore-rest", launches=2), "--out", "w.jsonl",
                         code=2)
        self.run_program("baseline", "accept", "dir", aa, "--owner", "x", "--reason", "y")
        self.run_program("selftest", aa, "--trials", "2", "--out", "rates.jsonl")
        kinds = set()
        for name in ("aa.jsonl", "crashed.jsonl", "v.jsonl", "w.jsonl", "dir/log.jsonl", "rates.jsonl"):
            for line in (self.folder / name).read_text().splitlines():
                record = json.loads(line)
                Draft202012Validator(schema).validate(record)
                kinds.add(record["record"])
                spoiled = {key: value for key, value in record.items() if key != list(record)[-1]}
                self.assertFalse(Draft202012Validator(schema).is_valid(spoiled), line)
        self.assertEqual(len(kinds), len(schema["oneOf"]))

    def test_other_tools_read_the_exports(self):
        base, slow = self.launch("base"), self.launch("slow", "--slower", "0.06")
        self.run_program("compare", base, slow, "--junit", "j.xml", "--csv", "v.csv", "--openmetrics", "m.txt", code=1)
        suites = xml.etree.ElementTree.parse(self.folder / "j.xml").getroot()
        self.assertEqual(suites.get("failures"), "6")
        with open(self.folder / "v.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["verdict"] for row in rows], ["regressed"] * 6)
        self.assertGreater(float(rows[0]["shift_percent"]), 5.5)
        self.run_program("export", base, "--as", "csv", "--out", "s.csv")
        with open(self.folder / "s.csv", newline="", encoding="utf-8") as file:
            self.assertEqual(len(list(csv.DictReader(file))), 60)
        self.run_program("export", base, "--as", "xls", code=5)

    def test_waivers_hold_until_they_expire(self):
        base, slow = self.launch("base"), self.launch("slow", "--slower", "0.06")

        def waive(expires, verdict="regressed"):
            entry = {"scenario": "bench/*", "verdict": verdict, "owner": "somebody", "reason": "r", "link": "#1",
                     "expires": expires}
            (self.folder / "w.json").write_text(json.dumps({"schema": 1, "entries": [entry]}))
            return ("--waivers", "w.json")

        self.assertIn("6 waived", self.run_program("compare", base, slow, *waive("2999-01-01"), code=3).stdout)  # none passed
        rows = zip(self.launch("same").read_text().splitlines(True), slow.read_text().splitlines(True))
        partly = self.folder / "partly.jsonl"
        partly.write_text("".join(late if ",tokens=16," in late and '"sample"' in late else same for same, late in rows))
        self.assertIn("3 pass, 3 waived", self.run_program("compare", base, partly, *waive("2999-01-01")).stdout)
        self.assertIn("expired on 2020-01-01", self.run_program("compare", base, slow, *waive("2020-01-01"), code=2).stdout)
        self.assertIn("is not needed here", self.run_program("compare", base, base, *waive("2999-01-01")).stderr)
        self.run_program("compare", base, slow, *waive("2999-01-01", "failed"), code=5)
        self.run_program("compare", base, slow, "--waivers", "absent.json", code=5)

    def test_selftest_measures_the_gate(self):
        aa = self.launch("aa", more=("--aa",))
        told = self.run_program("selftest", aa, "--trials", "20", "--out", "rates.json").stdout
        self.assertIn("6 scenarios, 10 launches a side, 20 trials", told)
        self.assertIn("flagged 100.00 %", told)
        self.assertEqual(json.loads((self.folder / "rates.json").read_text())["false_alarms"], 0)
        self.run_program("selftest", aa, "--trials", "5", "--slower", "1", code=2)
        self.run_program("selftest", self.launch("base"), code=5)

    def test_the_recipe_of_a_job_tells_the_worst(self):
        recipe = Path(__file__).resolve().parent.parent / "ci" / "gate"
        self.run_program("baseline", "accept", "dir", self.launch("base"), "--owner", "x", "--reason", "y")

        def job(*options, only="bench,gate"):
            done = subprocess.run([recipe, "--program", PROGRAM, "--baseline", "dir", "--out", "job", "--fabric", "host",
                                   "--only", only, *options], cwd=self.folder, text=True, capture_output=True, check=False)
            self.said = done.stderr
            return done.returncode, done.stdout

        code, text = job("--bench-program", self.build("same"))
        self.assertEqual(code, 0, text)
        self.assertIn("not in the base, so not compared: 30", text)  # twelve points, of which the base has two
        self.assertEqual(job("--bench-program", self.build("slow", "--slower", "0.06", "--ignore-rest"))[0], 1)
        self.assertEqual(job("--bench-program", self.build("fewer", "--tokens", "16", "--ignore-rest"))[0], 2)
        self.assertTrue((self.folder / "job" / "gate.xml").exists())
        for only in ("", "bnech,gaet", "bench,", ",gate", "bench gate", "gate,smok"):
            self.assertEqual(job(only=only), (5, ""))
            self.assertRegex(self.said, r"\Atools/ci/gate: --only: must be some of [^\n]+\n\Z")
        entry = {"scenario": "*,tokens=16,*", "verdict": "regressed", "owner": "x", "reason": "r", "link": "#1",
                 "expires": "2999-01-01"}
        for name, verdict in (("w.json", "regressed"), ("k.json", "failed")):
            (self.folder / name).write_text(json.dumps({"schema": 1, "entries": [{**entry, "verdict": verdict}]}))
        slow = ("--bench-program", self.build("slower", "--slower", "0.06", "--ignore-rest"))
        code, text = job(*slow, "--waivers", "w.json", "--known-issues", "k.json")
        self.assertEqual(code, 1, text)
        self.assertIn("3 regressed, 3 waived", text)
        self.assertIn("(failed, #1) is not needed here", self.said)
        aa = self.launch("aa", "--noise", "0.2", more=("--aa",))
        self.assertEqual(job(*slow, "--noise", aa)[0], 0)
        self.assertEqual(job("--baseline", "absent", only="gate")[0], 5)
        self.assertRegex(self.said, r"no accepted baseline [^\n]*; to accept one: switchyard baseline accept absent [^\n]+\n\Z")
        self.assertEqual(job("--launches")[0], 5)
        self.assertEqual(job("--bench-program", self.folder / "absent")[0], 2)

    def test_a_parser_of_openmetrics_reads_them(self):
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("no prometheus_client")
        base, slow = self.launch("base"), self.launch("slow", "--slower", "0.06")
        self.run_program("compare", base, slow, "--openmetrics", "m.txt", code=1)
        families = {one.name: one for one in text_string_to_metric_families((self.folder / "m.txt").read_text())}
        self.assertEqual(set(families), {"switchyard_time_seconds", "switchyard_shift_ratio", "switchyard_verdict"})
        self.assertEqual(len(families["switchyard_time_seconds"].samples), 12)
        regressed = [one for one in families["switchyard_verdict"].samples
                     if one.labels["switchyard_verdict"] == "regressed"]
        self.assertEqual([one.value for one in regressed], [1.0] * 6)

    def test_google_benchmark_compares_them(self):
        script = os.environ.get("SWITCHYARD_COMPARE_PY", "/usr/share/benchmark/compare.py")
        if not os.path.exists(script) or importlib.util.find_spec("scipy") is None:
            self.skipTest("no compare.py of Google Benchmark, or no scipy")
        for name, slower in (("base", "0"), ("slow", "0.06")):
            self.run_program("export", self.launch(name, "--slower", slower), "--as", "google-benchmark", "--out",
                             f"{name}.json")
        done = subprocess.run([sys.executable, script, "--no-color", "-d", "d.json", "benchmarks", "base.json", "slow.json"],
                              cwd=self.folder, text=True, capture_output=True, check=True)
        tests = [line for line in done.stdout.splitlines() if "_pvalue" in line]
        self.assertEqual(len(tests), 6, done.stdout)
        for line in tests:
            self.assertIn("U Test, Repetitions: 10 vs 10", line)
        # The same p as ours: both count all ways or come within what an approximation may differ.
        theirs = [one["utest"]["time_pvalue"] for one in json.loads((self.folder / "d.json").read_text())
                  if one.get("utest", {}).get("have_optimal_repetitions") is not None]
        self.assertTrue(theirs and all(p < 0.001 for p in theirs), theirs)

    def test_options_that_do_not_go_together(self):
        for arguments in (["--against", "x"], ["--aa", "--out", "x"], ["--launches", "2"],
                          ["--launches", "2", "--aa", "--against", "x"], ["--launches", "2", "--out", "x", "--reruns", "1"],
                          ["--launches", "2", "--out", "x", "--repeat", "2"], ["--launches", "-1", "--out", "x"],
                          ["--launches", "2", "--out", ""]):
            self.run_program("bench", *arguments, code=5)
        for arguments in (["--percent", "-1"], ["--percent", "x"], ["--least-us", "nan"], ["--percent", ""]):
            self.run_program("compare", "a", "b", *arguments, code=5)
        self.run_program("baseline", code=5)
        self.run_program("baseline", "accept", "dir", "x", code=5)

    def test_shipped_benches_are_read(self):
        file, = Path(RESULTS).glob("h200x2-nv18/bench.jsonl")
        options = json.loads(file.read_text().splitlines()[0])["options"]
        scenarios = 3 * len(options["tokens"]) * len(options["transports"])
        done = self.run_program("compare", file, file, code=4)  # one launch a side
        self.assertIn(f"{scenarios} inconclusive", done.stdout)
        self.assertIn("note: links of the GPUs are unknown", done.stdout)


class Million(Program):
    def test_a_million_records(self):
        header = None
        for line in self.launch("base", launches=1).read_text().splitlines():
            header = header or line
        count = 500_000
        launches = 10
        for side in ("a", "b"):
            with open(self.folder / f"{side}.jsonl", "w", encoding="utf-8") as out:
                out.write(json.dumps({**json.loads(header), "launches": launches}) + "\n")
                for i in range(count):
                    scenario, launch = divmod(i, launches)
                    us = 20 + scenario % 977 + 0.001 * ((i * 7919 + ord(side)) % 211)
                    out.write(f'{{"record":"sample","scenario":"bench/deepseek_v3@phase=round_trip,ranks=2,routing=uniform,'
                              f'seed=1,steps=40,tokens={scenario},transport=auto","launch":{launch},"time_us":{us:.3f},'
                              '"marked":0}\n')
                out.write(f'{{"record":"samples_end","samples":{count},"failed_launches":0}}\n')
        start = time.monotonic()
        done = self.run_program("compare", "a.jsonl", "b.jsonl")
        elapsed = time.monotonic() - start
        self.assertIn("50000 pass\n", done.stdout)
        peak_mib = self.peak_mib("compare", "a.jsonl", "b.jsonl")
        print(f"a million records: {elapsed:.1f} s, {peak_mib:.0f} MiB", file=sys.stderr)
        self.assertLess(elapsed, 10)
        self.assertLess(peak_mib, 1024)

    def peak_mib(self, *arguments):
        """The most memory that the program had, as the kernel counts it."""
        script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", script, PROGRAM, *arguments], cwd=self.folder, text=True,
                              capture_output=True, check=True)
        return int(done.stdout) / 1024


if __name__ == "__main__":
    unittest.main()
