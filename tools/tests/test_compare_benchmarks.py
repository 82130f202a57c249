# SPDX-License-Identifier: Apache-2.0
"""What takes longer is told, what only spreads is not, and what cannot be compared is not judged."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import compare_benchmarks

BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "results", "host-x86-2core",
                        "host_pieces_benchmark.json")


def run(times, unit="ns", **context):
    """A report of benchmarks, each with the median and the spread that it has here."""
    entries = []
    for name, (median, spread) in times.items():
        for aggregate, time in (("mean", 2 * median), ("median", median), ("stddev", spread)):
            entries.append({"run_name": name, "aggregate_name": aggregate, "cpu_time": time, "real_time": 7 * time,
                            "time_unit": unit})
    machine = {"num_cpus": 2, "mhz_per_cpu": 2445, "library_build_type": "debug"}
    return {"context": {**machine, **context}, "benchmarks": entries}


class CompareBenchmarks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compare(self, base, now):
        paths = []
        for name, report in (("base", base), ("now", now)):
            paths.append(os.path.join(self.folder.name, name))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(report if isinstance(report, str) else json.dumps(report))
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = compare_benchmarks.main(paths)
        return code, shown.getvalue()

    def verdicts(self, base, now):
        code, text = self.compare(base, now)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
        return code, {row[0]: row[-1] for row in rows[2:]}

    def test_a_median_that_is_beyond_percentage_and_spread_is_told(self):
        base = run({"plain": (100, 1), "wide": (100, 15), "quick": (100, 1), "near": (100, 0)})
        now = run({"plain": (111, 1), "wide": (125, 15), "quick": (80, 1), "near": (109, 0)})
        self.assertEqual(self.verdicts(base, now),
                         (1, {"plain": "slower", "wide": "same", "quick": "faster", "near": "same"}))
        self.assertEqual(self.compare(base, base)[0], 0)
        self.assertEqual(self.compare(now, base)[0], 1, "what was quick is slower")

    def test_units_are_those_of_each_run(self):
        self.assertEqual(self.verdicts(run({"a": (2, 0)}, unit="us"), run({"a": (2000, 0)})), (0, {"a": "same"}))
        self.assertEqual(self.verdicts(run({"a": (2, 0)}, unit="us"), run({"a": (2, 0)}, unit="ms")),
                         (1, {"a": "slower"}))

    def test_what_is_missing_or_new_is_told(self):
        self.assertEqual(self.verdicts(run({"a": (1, 0), "b": (1, 0)}), run({"a": (1, 0), "c": (1, 0)})),
                         (2, {"a": "same", "b": "missing", "c": "new"}))

    def test_another_machine_is_not_judged(self):
        for change in ({"num_cpus": 16}, {"mhz_per_cpu": 3000}, {"library_build_type": "release"}):
            code, text = self.compare(run({"a": (1, 0)}), run({"a": (9, 0)}, **change))
            self.assertEqual(code, 4, change)
            self.assertIn(f"not the same machine: {next(iter(change))} is ", text)
            self.assertIn("| not judged |", text)

    def test_bad_files_are_told(self):
        good = run({"a": (1, 0)})
        for bad in ("x", "[]", "{}", json.dumps({"context": {}, "benchmarks": []}),
                    json.dumps({"context": {}, "benchmarks": [{"run_name": "a", "cpu_time": 1, "time_unit": "ns"}]})):
            self.assertEqual(self.compare(good, bad)[0], 5, bad)
            self.assertEqual(self.compare(bad, good)[0], 5, bad)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(compare_benchmarks.main(["/nowhere/base", "/nowhere/now"]), 5)
            self.assertEqual(compare_benchmarks.main(["base"]), 5)

    def test_the_recorded_baseline_can_be_compared(self):
        context, times = compare_benchmarks.read(BASELINE)
        self.assertEqual(context["host_name"], "(not recorded)")
        self.assertTrue(all(median > 0 for median, _ in times.values()))
        self.assertEqual(len(times), 17)


if __name__ == "__main__":
    unittest.main()
