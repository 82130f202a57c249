# SPDX-License-Identifier: Apache-2.0
"""The files of the repository and what a check found in them; shared by the checks."""
import os
import re
import subprocess
import sys
from dataclasses import dataclass

CXX = (".hpp", ".cpp", ".cuh", ".cu", ".h", ".c")


@dataclass(frozen=True)
class Finding:
    """One broken rule. A warning is printed and fails nothing."""

    path: str
    line: int
    text: str
    warning: bool = False

    def __str__(self):
        return f"{self.path}:{self.line}: {'warning: ' if self.warning else ''}{self.text}"


def list_files(root):
    """Paths below root with '/', sorted: what git does not ignore, or everything where git knows nothing."""
    listed = subprocess.run(
        ["git", "-C", root, "-c", f"safe.directory={os.path.realpath(root)}", "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.decode("utf-8").split("\0")
        return sorted({name for name in names if name and os.path.isfile(os.path.join(root, name))})
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/") for name in names]
    return sorted(found)


def read_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read().split("\n")


_TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)" | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+' """, re.VERBOSE | re.DOTALL)


def code_lines(lines):
    """The lines with comments and the contents of literals blanked out, so that words in them are not taken for code."""

    def blank(match):
        text = match.group(0)
        kept = "\n" * text.count("\n")
        return kept if text.startswith("/") else '""' + kept

    return _TOKENS.sub(blank, "\n".join(lines)).split("\n")


def run(check, root):
    """Prints the findings of `check(root)`; the exit code."""
    findings = check(root)
    for finding in findings:
        print(finding)
    errors = sum(not finding.warning for finding in findings)
    if errors:
        print(f"{errors} found", file=sys.stderr)
    return 2 if errors else 0


def main(check, usage):
    """The program around a check: [ROOT], by default the repository this file is in."""
    arguments = sys.argv[1:]
    if arguments[:1] in (["--help"], ["-h"]):
        print(usage.strip())
        return 0
    if len(arguments) > 1:
        print(f"one folder at most, got {arguments}", file=sys.stderr)
        return 5
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return run(check, root)
