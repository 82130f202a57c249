#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks as processes, from outside: what is killed, stopped, late, of another build or not there at all, each within its
bound, named, and with nothing left behind.

The first five arguments are as in program_run.py.
"""
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

from program_run import PROGRAM, Run, without_time

ENDS_WITHIN = 30  # seconds, for anything here that goes wrong


def free_ports():
    """A port that is free with the one behind it."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue


class Launch(Run):
    def setUp(self):
        super().setUp()
        # Quick where nothing goes wrong, and long enough for something to be done to it.
        self.suite("long", ranks=3, tokens=2, steps=400, late_us=5000, timeout_ms=1000, sweep={"extra_bytes": [0, 4]})
        self.addCleanup(self.expect_nothing_left)

    def processes(self):
        """Of this test, by number: what /proc has of them. They have the folder among their arguments."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes()
                if str(self.folder).encode() in command:
                    found[int(entry.name)] = (entry / "environ").read_bytes()
            except OSError:
                continue  # it has just ended
        return found

    def rank_process(self, rank):
        prefix = f"SWITCHYARD_RANK_PROCESS={rank}:".encode()
        for number, environment in self.processes().items():
            if any(variable.startswith(prefix) for variable in environment.split(b"\0")):
                return number
        return None

    def expect_nothing_left(self):
        give_up = time.monotonic() + 5
        while self.processes() and time.monotonic() < give_up:
            time.sleep(0.02)
        left = self.processes()
        for number in left:
            os.kill(number, signal.SIGKILL)
        self.assertEqual(list(left), [])

    def start_long(self, *arguments, **how):
        """A run within its first case."""
        run = self.start("run", "long", "--launch", "fork", "--out", "records", *arguments, **how)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stderr.close)
        self.wait_for(lambda: self.rank_process(2) is not None and list((self.folder / "records").glob("*.jsonl")))
        time.sleep(0.5)
        return run

    def end(self, run, code):
        begin = time.monotonic()
        out, err = run.communicate(timeout=ENDS_WITHIN)
        self.assertEqual(run.returncode, code, f"{out}\n{err}")
        self.assertLess(time.monotonic() - begin, ENDS_WITHIN)
        return out, err

    def expect_first_fails_alone(self, run, status):
        """And the reason, which the caller looks at."""
        self.end(run, 2)
        first, second = self.cases_in()
        self.assertEqual([first["status"], second["status"]], [status, "pass"], first["reason"])
        return first["reason"]

    def job(self, size, suite="small", **changes):
        """Processes as a launcher would start them; `changes` by rank: arguments, program, delay, absent."""
        port = free_ports()
        runs = []
        for rank in range(size):
            how = changes.get(f"rank{rank}", {})
            if how.get("absent"):
                continue
            time.sleep(how.get("delay", 0))
            variables = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank),
                             LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
            command = [how.get("program", PROGRAM), "run", suite, "--scenarios", str(self.scenarios), "--out", "records",
                       *how.get("arguments", [])]
            runs.append(subprocess.Popen(command, cwd=self.folder, env=variables, text=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE))
        return runs


class Fork(Launch):
    def test_the_bytes_are_those_of_threads(self):
        self.run_program("run", "small", "stopped", "--out", "threads")
        self.run_program("run", "small", "stopped", "--out", "fork", "--launch", "fork")
        by_threads, by_fork = ([without_time(case) for case in self.cases_in(where)] for where in ("threads", "fork"))
        self.assertEqual(by_threads, by_fork)
        header = json.loads(self.only("*.jsonl", "fork").read_text().split("\n")[0])
        self.assertEqual(header["run"]["launch"]["mode"], "fork")
        self.assertEqual([rank["local_rank"] for rank in header["run"]["launch"]["ranks"]], [0, 1, 2])

    def test_a_rank_that_is_killed_is_a_crash_and_the_next_case_runs(self):
        run = self.start_long()
        os.kill(self.rank_process(1), signal.SIGKILL)
        reason = self.expect_first_fails_alone(run, "crash")
        self.assertRegex(reason, r"^rank 1 was killed by signal 9 \(Killed\) in (dispatch|combine) of step \d+; missed by "
                                 r"rank 0, rank 2$")

    def test_a_rank_that_ends_by_itself_is_a_crash(self):
        run = self.start_long()
        os.kill(self.rank_process(0), signal.SIGTERM)
        self.assertIn("rank 0 was killed by signal 15", self.expect_first_fails_alone(run, "crash"))

    def test_a_rank_that_is_stopped_is_a_timeout(self):
        run = self.start_long()
        os.kill(self.rank_process(2), signal.SIGSTOP)
        reason = self.expect_first_fails_alone(run, "timeout")
        self.assertRegex(reason, r"^a process that does not run: rank 2 in .* \(its process is stopped\); missed by rank 0, "
                                 r"rank 1$")

    def test_no_rank_outlives_its_supervisor_and_the_run_is_resumed(self):
        run = self.start_long()
        os.kill(self.rank_process(1), signal.SIGSTOP)
        run.kill()
        run.communicate()
        self.expect_nothing_left()
        records = self.only("*.jsonl")
        self.run_program("run", "long", "--launch", "fork", "--resume", str(records))
        self.assertEqual([case["status"] for case in self.cases_in()], ["pass", "pass"])
        # Another way to launch is another run.
        done = self.run_program("run", "long", "--resume", str(records), code=5)
        self.assertIn("must be launched as in this run, by threads", done.stderr)

    def test_an_interrupt_leaves_the_case(self):
        run = self.start_long()
        run.send_signal(signal.SIGTERM)
        out, _ = self.end(run, 2)
        self.assertIn("2 cases have no record and count as missing", out)

    def test_records_that_cannot_be_written_end_the_run(self):
        run = self.start_long()
        # Of the supervisor alone: its ranks are there already.
        resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        _, err = self.end(run, 2)
        self.assertIn("File too large", err)

    def test_a_rank_that_cannot_start_is_named_before_the_first_case(self):
        variables = dict(os.environ, SWITCHYARD_RANK_PROCESS="nonsense")
        done = self.run_program("run", "small", "--launch", "fork", code=5, env=variables)
        self.assertIn("it is for the program itself to set", done.stderr)

    def test_options_of_processes_are_for_processes(self):
        for option in (["--start-timeout", "3"], ["--case-timeout", "3"], ["--bind", "none"]):
            done = self.run_program("run", "small", *option, code=5)
            self.assertIn("is for ranks that are processes", done.stderr)
        self.run_program("run", "small", "--launch", "spoon", code=5)
        done = self.run_program("run", "--random", "3", "--launch", "fork", code=5)
        self.assertIn("--random: is for --launch threads", done.stderr)

    def test_a_case_that_takes_too_long_is_a_timeout(self):
        run = self.start("run", "long", "--launch", "fork", "--out", "records", "--case-timeout", "1")
        out, err = run.communicate(timeout=ENDS_WITHIN)
        self.assertEqual(run.returncode, 2, out + err)
        for case in self.cases_in():
            self.assertEqual(case["status"], "timeout")
            self.assertTrue(case["reason"].startswith("no end within 1000 ms"), case["reason"])


class Job(Launch):
    def ends(self, runs):
        return [(run.communicate(timeout=ENDS_WITHIN), run.returncode) for run in runs]

    def test_a_job_runs_what_its_size_allows(self):
        ends = self.ends(self.job(2))
        self.assertEqual([code for _, code in ends], [0, 0], ends)
        header = json.loads(self.only("*.jsonl").read_text().split("\n")[0])
        self.assertEqual(header["run"]["launch"]["mode"], "env")
        self.assertEqual({case["status"] for case in self.cases_in()}, {"pass"})

    def test_more_ranks_than_processes_are_skipped(self):
        ends = self.ends(self.job(2, "stopped"))
        self.assertEqual([code for _, code in ends], [3, 0], ends)  # nothing passed
        self.assertIn("needs 3 ranks, there are 2 processes", self.cases_in()[0]["reason"])

    def test_a_rank_that_starts_late_is_waited_for(self):
        ends = self.ends(self.job(2, rank1={"delay": 20}))
        self.assertEqual([code for _, code in ends], [0, 0], ends)

    def test_a_rank_that_does_not_come_is_named(self):
        ends = self.ends(self.job(3, rank0={"arguments": ["--start-timeout", "2"]}, rank1={"absent": True}))
        self.assertEqual([code for _, code in ends], [3, 3], ends)
        self.assertIn("did not come within 2000 ms: 1", ends[0][0][1])
        self.assertIn("rank 0 is lost", ends[1][0][1])
        self.assertFalse((self.folder / "records").exists())

    def test_a_rank_with_other_cases_is_turned_away(self):
        ends = self.ends(self.job(2, rank1={"arguments": ["--seed", "7"]}))
        self.assertEqual([code for _, code in ends], [3, 3], ends)
        self.assertIn("rank 1 does not fit: seed is 7 there, 1 here", ends[0][0][1])
        self.assertIn("has turned this process away: rank 1 does not fit: seed is 7 there", ends[1][0][1])

    def test_a_rank_of_another_build_is_turned_away(self):
        other = self.folder / "switchyard"
        image = bytearray(Path(PROGRAM).read_bytes())
        place = image.find(b"\x03\0\0\0GNU\0")  # the note that holds the build's id, type and name
        self.assertGreater(place, 0)
        image[place + 8] ^= 1
        other.write_bytes(image)
        shutil.copymode(PROGRAM, other)
        ends = self.ends(self.job(2, rank1={"program": str(other)}))
        self.assertEqual([code for _, code in ends], [3, 3], ends)
        self.assertIn("rank 1 does not fit: build_id is", ends[0][0][1])

    def test_a_port_in_use_is_said(self):
        with socket.create_server(("", 0)) as taken:
            variables = dict(os.environ, RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", LOCAL_WORLD_SIZE="2",
                             MASTER_ADDR="127.0.0.1", MASTER_PORT=str(taken.getsockname()[1]))
            done = self.run_program("run", "small", code=3, env=variables)
        self.assertIn(f"port {variables['MASTER_PORT']} cannot be listened at: Address already in use", done.stderr)

    def test_an_agent_that_is_killed_takes_its_rank_along_and_no_case_is_lost(self):
        runs = self.job(3, "long")
        self.wait_for(lambda: self.rank_process(2) is not None and list((self.folder / "records").glob("*.jsonl")))
        time.sleep(0.5)
        runs[2].kill()
        ends = self.ends(runs)
        self.assertEqual([code for _, code in ends], [2, 0, -9], ends)
        first, second = self.cases_in()
        self.assertEqual([first["status"], second["status"]], ["crash", "crash"])
        self.assertIn("rank 2 cannot be reached any more", first["reason"])
        self.assertIn("rank 2: the process that starts it is gone", second["reason"])

    def test_agents_end_with_their_supervisor(self):
        runs = self.job(3, "long")
        self.wait_for(lambda: self.rank_process(2) is not None and list((self.folder / "records").glob("*.jsonl")))
        runs[0].kill()
        ends = self.ends(runs)
        self.assertEqual([code for _, code in ends], [-9, 3, 3], ends)
        self.assertIn("rank 0 is lost", ends[1][0][1])

    def test_a_rank_is_killed_and_started_anew_under_its_agent(self):
        runs = self.job(3, "long")
        self.wait_for(lambda: self.rank_process(2) is not None and list((self.folder / "records").glob("*.jsonl")))
        time.sleep(0.5)
        os.kill(self.rank_process(2), signal.SIGKILL)
        ends = self.ends(runs)
        self.assertEqual([code for _, code in ends], [2, 0, 0], ends)
        first, second = self.cases_in()
        self.assertEqual([first["status"], second["status"]], ["crash", "pass"])
        self.assertIn("rank 2 was killed by signal 9", first["reason"])

    @unittest.skipUnless(shutil.which("mpirun") and b"libmpi" in Path(PROGRAM).read_bytes(), "no mpirun, or built without MPI")
    def test_a_job_of_mpirun(self):
        job = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        done = subprocess.run(job + self.command("run", "small", "--out", "records"), cwd=self.folder, text=True,
                              capture_output=True, check=False, timeout=ENDS_WITHIN)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        header = json.loads(self.only("*.jsonl").read_text().split("\n")[0])
        self.assertEqual(header["run"]["launch"]["mode"], "mpi")


if __name__ == "__main__":
    unittest.main()
