# SPDX-License-Identifier: Apache-2.0
"""switchyard run --fabric cuda on a machine with GPUs: what is too much for it, and the same bits as on the host fabric.

Usage: test_gpus.py PROGRAM
Skipped where there is no GPU, or failed where SWITCHYARD_REQUIRE_GPUS says that there must be.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import same_results

PROGRAM = ""


def run(folder, *arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


class Gpus(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        probe = run(self.folder, "run", "smoke", "--fabric", "cuda", "--gpus", "1", "--out", "probe", "--filter",
                    "*gpt_oss@ranks=2,tokens=1")
        if probe.returncode == 0:
            return
        if os.environ.get("SWITCHYARD_REQUIRE_GPUS", "0") not in ("", "0"):
            self.fail(probe.stdout + probe.stderr)
        self.skipTest(probe.stderr)

    def expect_one_error(self, code, pattern, *arguments):
        result = run(self.folder, "run", *arguments, "--fabric", "cuda", "--out", "refused")
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertRegex(result.stderr, r"\Aswitchyard: [^\n]+\n\Z")
        self.assertRegex(result.stderr, pattern)
        self.assertEqual(result.stdout, "")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "refused")), "records of nothing")

    def test_more_gpus_than_there_are(self):
        self.expect_one_error(3, r"fabric cuda: 200 GPU\(s\) were asked for, \d+ can be used here", "smoke", "--gpus", "200")

    def test_the_bits_are_those_of_the_host_fabric(self):
        for fabric in (["--fabric", "host"], ["--fabric", "cuda", "--gpus", "1"]):
            result = run(self.folder, "run", "smoke", "--filter", "*ranks=4,tokens=16", *fabric, "--out", fabric[1])
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        host, cuda = (same_results.read(glob.glob(os.path.join(self.folder, name, "*.jsonl"))[0])
                      for name in ("host", "cuda"))
        self.assertEqual(same_results.differences(host, cuda), ([], 8))

    def test_graphs_run_here(self):
        result = run(self.folder, "run", "graphs", "--filter", "*/epoch_wrap@*", "--fabric", "cuda", "--gpus", "1",
                     "--out", "graphs")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_tune_says_what_to_set(self):
        result = run(self.folder, "tune", "--max-tokens", "4", "--graph-launches", "8", "--steps", "10", "--json")
        if result.returncode == 3 and int(os.environ.get("SWITCHYARD_REQUIRE_GPUS") or 0) < 2:
            self.skipTest(result.stderr)
        self.assertIn(result.returncode, (0, 4), result.stderr)  # 4: noise may hide what is right
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["record"] for line in lines], ["bench_header", "bench_link", "bench_tune"])
        self.assertEqual([point["tokens"] for point in lines[-1]["points"]][0], 1)
        self.assertIn(lines[-1]["lamport"], ("auto", "off"))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
