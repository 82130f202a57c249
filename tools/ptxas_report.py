# SPDX-License-Identifier: Apache-2.0
"""Runs a CUDA compiler and keeps what ptxas says of each kernel; or compares what was kept with what is allowed.

usage: ptxas_report.py REPORT_JSON COMPILER [ARGUMENT...]     compiles; everything but ptxas's words is passed on
       ptxas_report.py --compare REPORT_JSON LIMITS_JSON      exit code 2 when a kernel takes more than its limit

A report, and the limits: {"sm_90": {"dispatch_kernel": {"registers": 1, "stack": 1, "spill_stores": 1, "shared": 1}}}
"""
import json
import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
PROPERTIES = re.compile(r"Function properties for (\w+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
# A name, and as template arguments numbers and enumerators.
KERNEL = re.compile(r"\d+([a-z_]+_kernel)(?:I((?:L(?:j|NS_\d+[a-z_]+E)\d+E)+)E)?E")
ARGUMENT = re.compile(r"L(?:j|NS_\d+[a-z_]+E)(\d+)E")


def parse(lines):
    """The report, and the lines that are not ptxas's."""
    report, others = {}, []
    entry = current = None
    for line in lines:
        if match := ENTRY.search(line):
            entry = match[1]
            name = KERNEL.search(entry)
            shown = entry if not name else name[1]
            if name and name[2]:
                shown += f"<{','.join(ARGUMENT.findall(name[2]))}>"
            kernel = report.setdefault(match[2], {}).setdefault(shown, {})
        elif match := PROPERTIES.search(line):
            current = match[1]
        elif match := FRAME.search(line):
            if current == entry:
                kernel["stack"], kernel["spill_stores"] = int(match[1]), int(match[2])
        elif match := USED.search(line):
            shared = SHARED.search(line)
            kernel["registers"], kernel["shared"] = int(match[1]), int(shared[1]) if shared else 0
        elif not line.startswith("ptxas info") and line.strip():
            others.append(line)
    return report, others


def compile_and_report(path, command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    report, others = parse(done.stderr.splitlines())
    for line in others:
        print(line, file=sys.stderr)
    if done.returncode == 0 and report:  # a run for dependencies alone compiles no kernel
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2, sort_keys=True)
            file.write("\n")
    return done.returncode


def excesses(report, limits):
    """What is above its limit, or has none."""
    for architecture, kernels in sorted(report.items()):
        for kernel, used in sorted(kernels.items()):
            allowed = limits.get(architecture, {}).get(kernel, {})
            for what, number in sorted(used.items()):
                if what not in allowed:
                    yield f"{architecture} {kernel}: {what} is {number}, and has no limit"
                elif number > allowed[what]:
                    yield f"{architecture} {kernel}: {what} is {number}, must be at most {allowed[what]}"


def compare(report_path, limits_path):
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)
    with open(limits_path, encoding="utf-8") as file:
        limits = json.load(file)
    found = list(excesses(report, limits))
    for text in found:
        print(text)
    if found:
        print(f"what {report_path} says may become the limit where the growth is worth it")
    return 2 if found or not report else 0


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 3 and arguments[0] == "--compare":
        return compare(*arguments[1:])
    if len(arguments) < 2 or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 5
    return compile_and_report(arguments[0], arguments[1:])


if __name__ == "__main__":
    sys.exit(main())
