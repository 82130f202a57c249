# SPDX-License-Identifier: Apache-2.0
"""Runs a CUDA compiler and keeps what ptxas says of each kernel; or compares what was kept with what is allowed.

usage: ptxas_report.py COMPILER [ARGUMENT...]             compiles; everything but ptxas's words is passed on. The report
                                                          stands beside the object, with .ptxas.json after its name
       ptxas_report.py --compare LIMITS_JSON REPORT...    exit code 2 when a kernel takes more than its limit
       ptxas_report.py --merge REPORT...                  prints them as one, which may become the limits

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
KERNEL = re.compile(r"\d+([a-z_]+_kernel)(?:I((?:L(?:[jb]|NS\d*_\d+[a-z_]+E)\d+E)+)E)?E")
ARGUMENT = re.compile(r"L(?:[jb]|NS\d*_\d+[a-z_]+E)(\d+)E")


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


def dumped(report):
    return json.dumps(report, indent=2, sort_keys=True) + "\n"


def compile_and_report(command):
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    report, others = parse(done.stderr.splitlines())
    for line in others:
        print(line, file=sys.stderr)
    if done.returncode == 0 and report:  # a run for dependencies alone compiles no kernel
        with open(command[command.index("-o") + 1] + ".ptxas.json", "w", encoding="utf-8") as file:
            file.write(dumped(report))
    return done.returncode


def merged(paths):
    """The reports of several sources as one."""
    report = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for architecture, kernels in json.load(file).items():
                report.setdefault(architecture, {}).update(kernels)
    return report


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


def compare(limits_path, report_paths):
    report = merged(report_paths)
    limits = merged([limits_path])
    found = list(excesses(report, limits))
    for text in found:
        print(text)
    if found:
        print("what --merge prints of the reports may become the limits where the growth is worth it")
    return 2 if found or not report else 0


def main():
    arguments = sys.argv[1:]
    if len(arguments) >= 3 and arguments[0] == "--compare":
        return compare(arguments[1], arguments[2:])
    if len(arguments) >= 2 and arguments[0] == "--merge":
        print(dumped(merged(arguments[1:])), end="")
        return 0
    if not arguments or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 5
    return compile_and_report(arguments)


if __name__ == "__main__":
    sys.exit(main())
