# SPDX-License-Identifier: Apache-2.0
"""switchyard run --fabric, on any machine: what is refused, what is missing, what a dry run says.

Usage: test_fabric.py PROGRAM
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""


def run(folder, *arguments, **variables):
    """Runs the program where no GPU is to be seen."""
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES="", **variables)
    return subprocess.run([PROGRAM, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=60, check=False)


class Fabric(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_without_a_gpu_there_is_one_line_and_no_records(self):
        for variables in ({}, {"SWITCHYARD_REQUIRE_GPUS": "2"}):
            result = run(self.folder, "run", "smoke", "--fabric", "cuda", **variables)
            self.assertEqual(result.returncode, 3)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"\Aswitchyard: fabric cuda: [^\n]+\n\Z")
            self.assertEqual(os.listdir(self.folder), [])

    def test_without_a_gpu_json_has_the_error_too(self):
        result = run(self.folder, "run", "smoke", "--fabric", "cuda", "--gpus", "1", "--json")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(json.loads(result.stdout)["record"], "error")

    def test_measuring_needs_two_gpus(self):
        for command in (["bench", "--transports", "fence,lamport,auto"], ["tune"]):
            result = run(self.folder, *command)
            self.assertEqual(result.returncode, 3, command)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, rf"\Aswitchyard: {command[0]}: (2 ranks need a GPU each, found 0|this build has "
                                            r"no CUDA fabric; it is what bench measures)\n\Z")
        result = run(self.folder, "tune", "--json")
        self.assertEqual(result.returncode, 3)
        error = json.loads(result.stdout)
        self.assertEqual((error["record"], error["exit_code"]), ("error", 3))

    def test_options_that_make_no_sense_are_refused(self):
        for arguments, message in (
                (["--fabric", "tpu"], "--fabric: tpu: must be host or cuda"),
                (["--gpus", "2"], "--gpus: is for --fabric cuda"),
                (["--fabric", "cuda", "--gpus", "0"], "--gpus: 0: must be an integer from 1 to 256")):
            result = run(self.folder, "run", "smoke", *arguments)
            self.assertEqual(result.returncode, 5, arguments)
            self.assertEqual(result.stderr, f"switchyard: {message}\n")
        result = run(self.folder, "run", "smoke", "--fabric", "cuda", SWITCHYARD_REQUIRE_GPUS="two")
        self.assertEqual(result.returncode, 5)
        self.assertIn("SWITCHYARD_REQUIRE_GPUS: two: must be an integer", result.stderr)

    def test_a_dry_run_needs_no_gpu_and_counts_its_memory(self):
        result = run(self.folder, "run", "smoke", "--fabric", "cuda", "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(" of a GPU for each rank", result.stdout)
        result = run(self.folder, "run", "smoke", "--fabric", "cuda", "--dry-run", "--cases", "--json")
        plan = json.loads(result.stdout)
        largest = max(case["device_bytes_per_rank"] for case in plan["plan"])
        self.assertEqual(plan["device_bytes_per_rank"], largest)
        result = run(self.folder, "run", "smoke", "--dry-run", "--json")
        self.assertNotIn("device_bytes_per_rank", json.loads(result.stdout))

    def test_host_cases_need_no_gpu(self):
        result = run(self.folder, "run", "smoke", "--fabric", "host", "--filter", "*gpt_oss@ranks=2,tokens=1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("times: host fabric, not NVLink", result.stdout)

    @unittest.skipUnless(shutil.which("ldd"), "there is no ldd")
    def test_the_program_does_not_link_the_driver(self):
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=False).stdout
        self.assertNotIn("libcuda.so", libraries)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
