# SPDX-License-Identifier: Apache-2.0
"""The shipped synthetic traces are what their own generator lines make, byte for byte."""
import io
import json
import sys
import unittest
from contextlib import redirect_stderr
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_trace

GENERATED = "tools/make_trace.py "


def rows_of(arguments):
    return [json.loads(line) for line in make_trace.lines_of(arguments)][1:]


class MakeTrace(unittest.TestCase):
    def test_shipped_traces_are_reproduced(self):
        made = 0
        for path in sorted((ROOT / "scenarios" / "traces").glob("*.jsonl")):
            shipped = path.read_bytes()
            self.assertLess(len(shipped), 300_000, path.name)
            header = json.loads(shipped.split(b"\n", 1)[0])
            self.assertIs(header["synthetic"], True, path.name)
            if not header["generator"].startswith(GENERATED):
                self.assertEqual(header["generator"], "by hand", path.name)
                continue
            again = "".join(make_trace.lines_of(header["generator"][len(GENERATED):].split(" ")))
            self.assertEqual(again.encode(), shipped, path.name)
            made += 1
        self.assertEqual(made, 4)

    def test_random_numbers_are_splitmix64(self):
        random = make_trace.Random(1234567)  # the known first words of that seed
        self.assertEqual([random.next() for _ in range(3)],
                         [6457827717110365317, 3203168211198807973, 9817491932198370423])

    def test_seeds_differ_and_rows_are_distinct_experts(self):
        for kind in make_trace.KINDS:
            rows = rows_of([kind, "t"])
            self.assertEqual(rows, rows_of([kind, "t"]))
            self.assertNotEqual(rows, rows_of([kind, "t", "--seed", "9"]))
            for line in rows:
                for ids in line["topk_ids"]:
                    self.assertEqual(len(set(ids)), 8)
                    self.assertTrue(all(0 <= expert < 64 for expert in ids))

    def test_experts_persist_as_asked(self):
        for percent in (0, 100):
            lines = rows_of(["correlated", "t", "--persist-percent", str(percent), "--ranks", "1", "--tokens", "8"])
            last = {}
            kept = changed = 0
            for line in lines:
                for token, ids in enumerate(line["topk_ids"]):
                    if token in last:
                        kept += len(set(ids) & set(last[token]))
                        changed += len(set(ids) - set(last[token]))
                    last[token] = ids
            self.assertGreater(kept + changed, 50)
            if percent == 100:
                self.assertEqual(changed, 0)
            else:
                self.assertGreater(changed, 5 * kept)  # 8 of 64 come back by chance

    def test_skew_is_skew(self):
        uses = {}
        for line in rows_of(["skewed", "t", "--drift-percent", "0", "--top-k", "1", "--steps", "40"]):
            for ids in line["topk_ids"]:
                uses[ids[0]] = uses.get(ids[0], 0) + 1
        total = sum(uses.values())
        # 64 experts: the first has 1 / H(64) = 21 % of the weight; five standard deviations are 4 % of 2560 draws.
        self.assertTrue(0.17 < max(uses.values()) / total < 0.25, max(uses.values()) / total)

    def test_arguments_out_of_range_are_refused(self):
        for bad in (["--top-k", "65"], ["--ranks", "0"], ["--persist-percent", "101"], ["--seed", "-1"]):
            with redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                list(make_trace.lines_of(["skewed", "t", *bad]))


if __name__ == "__main__":
    unittest.main()
