#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of drawn cases. Arguments as program_run.py says."""
import unittest

from program_run import Run, without_time


class Random(Run):
    def test_drawn_cases_pass_and_are_recorded(self):
        self.run_program("run", "--random", "30", "--seed", "7")
        cases = self.cases_in()
        self.assertEqual(len(cases), 30)
        for case in cases:
            self.assertTrue(case["id"].startswith("random/drawn@"), case["id"])
            self.assertEqual((case["status"], case["seed"]), ("pass", 7))

    def test_an_id_repeats_its_case_without_a_file(self):
        self.run_program("run", "--random", "5", "--seed", "3", "--out", "drawn")
        for number, drawn in enumerate(self.cases_in("drawn")):
            self.run_program("run", "--case", drawn["id"], "--seed", "3", "--out", f"again{number}")
            again, = self.cases_in(f"again{number}")
            self.assertEqual(without_time(again), without_time(drawn))
            self.assertIn("random/drawn", self.run_program("explain", drawn["id"]).stdout)

    def test_limits_shards_and_dry_runs(self):
        done = self.run_program("run", "--random", "40", "--max-ranks", "2", "--max-tokens", "5", "--max-hidden", "16",
                                "--max-steps", "3", "--dry-run", "--json", "--cases")
        plan, = self.check_lines(done.stdout)
        self.run_program("run", "--random", "40", "--max-ranks", "2", "--max-tokens", "5", "--max-hidden", "16",
                         "--max-steps", "3", "--shard", "2/4")
        cases = self.cases_in()
        self.assertEqual([case["id"] for case in cases], [each["id"] for each in plan["plan"]][1::4])
        for spec in (case["spec"] for case in cases):
            self.assertLessEqual(spec["ranks"], 2)
            self.assertLessEqual(spec["max_tokens_per_rank"], 5)
            self.assertLessEqual(spec["hidden_size"], 16)
            self.assertLessEqual(spec["steps"], 3)

    def test_what_is_refused(self):
        def refused(text, *arguments):
            self.assertIn(text, self.run_program("run", *arguments, code=5).stderr)
        refused("--random: 0: must be an integer from 1 to 1000000", "--random", "0")
        refused("--max-steps: 0: must be an integer from 1 to", "--random", "5", "--max-steps", "0")
        refused("--max-ranks", "small", "--max-ranks", "2")
        refused("--random", "small", "--random", "2")
        refused("--random", "--random", "2", "--case", "small/s@ranks=1,tokens=0,variation=vary")
        refused("max_bytes: 1024: too small for the smallest case", "--random", "2", "--max-case-bytes", "1K")


if __name__ == "__main__":
    unittest.main()
