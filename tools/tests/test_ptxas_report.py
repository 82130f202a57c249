# SPDX-License-Identifier: Apache-2.0
"""The report says what ptxas said, and growth is found."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import ptxas_report

OUTPUT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN4cuda4_GLOBAL__N__1_2_15dispatch_kernelENS_6paramsE' for 'sm_90'
ptxas info    : Function properties for _ZN4cuda4_GLOBAL__N__1_2_15dispatch_kernelENS_6paramsE
    920 bytes stack frame, 64 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 920 bytes cumulative stack size, 144 bytes smem
ptxas info    : Compile time = 3.1 ms
ptxas info    : Function properties for _ZN4cuda5raiseE
    8 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
a.cu(1): warning: something
""".splitlines()
USED = {"registers": 128, "stack": 920, "spill_stores": 64, "shared": 144}


class PtxasReport(unittest.TestCase):
    def test_a_kernel_has_its_own_numbers_and_other_lines_are_passed_on(self):
        report, others = ptxas_report.parse(OUTPUT)
        self.assertEqual(report, {"sm_90": {"dispatch_kernel": USED}})
        self.assertEqual(others, ["a.cu(1): warning: something"])

    def test_a_template_argument_tells_kernels_apart(self):
        lines = [line.replace("dispatch_kernelENS", "dispatch_kernelILj256EEEvNS") for line in OUTPUT]
        report, _ = ptxas_report.parse(lines)
        self.assertEqual(report, {"sm_90": {"dispatch_kernel<256>": USED}})
        lines = [line.replace("dispatch_kernelENS", "dispatch_kernelILj256ELNS_5dtypeE1EEEvNS") for line in OUTPUT]
        report, _ = ptxas_report.parse(lines)
        self.assertEqual(report, {"sm_90": {"dispatch_kernel<256,1>": USED}})
        for enumerator in ("LNS0_10block_kindE1E", "LNS12_10block_kindE1E"):
            lines = [line.replace("dispatch_kernelENS", f"dispatch_kernelILj256E{enumerator}EEvNS") for line in OUTPUT]
            report, _ = ptxas_report.parse(lines)
            self.assertEqual(report, {"sm_90": {"dispatch_kernel<256,1>": USED}})
        lines = [line.replace("dispatch_kernelENS", "dispatch_kernelILj256ELb1EEEvNS") for line in OUTPUT]
        report, _ = ptxas_report.parse(lines)
        self.assertEqual(report, {"sm_90": {"dispatch_kernel<256,1>": USED}})

    def test_reports_of_several_sources_are_one(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, architectures in (("a", ("sm_90", "sm_100")), ("b", ("sm_90",))):
                paths.append(os.path.join(folder, name))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.write(ptxas_report.dumped({each: {name + "_kernel": USED} for each in architectures}))
            self.assertEqual(ptxas_report.merged(paths), {"sm_90": {"a_kernel": USED, "b_kernel": USED},
                                                          "sm_100": {"a_kernel": USED}})

    def test_growth_and_a_kernel_without_limits_are_found(self):
        report, _ = ptxas_report.parse(OUTPUT)
        self.assertEqual(list(ptxas_report.excesses(report, report)), [])
        smaller = {"sm_90": {"dispatch_kernel": dict(USED, registers=127)}}
        self.assertEqual(list(ptxas_report.excesses(report, smaller)),
                         ["sm_90 dispatch_kernel: registers is 128, must be at most 127"])
        self.assertEqual(len(list(ptxas_report.excesses(report, {}))), 4)


if __name__ == "__main__":
    unittest.main()
