# SPDX-License-Identifier: Apache-2.0
"""Pictures of benches: what is in the records is in the picture, at the right place, and what cannot be drawn is told."""
import contextlib
import io
import json
import math
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import plot_bench

SHIPPED = os.path.join(ROOT, "results", "h200x2-nv18", "bench.jsonl")
SVG = "{http://www.w3.org/2000/svg}"


def shipped_records():
    """The fence points of the shipped bench, as a schema of before there was another transport has them."""
    made = []
    for record in plot_bench.read_bench(SHIPPED):
        if record["record"] in ("bench_crossover", "bench_auto_check") or record.get("transport", "fence") != "fence":
            continue
        record = {key: value for key, value in record.items() if key not in ("transport", "taken", "taken_because")}
        if record["record"] == "bench_header":
            record["schema"] = 2
            for option in ("transports", "lamport", "lamport_max_tokens"):
                record["options"].pop(option, None)
        made.append(record)
    return made


def with_transports(records):
    """The records as a bench of three transports writes them: lamport half of fence up to 64 tokens and twice above, auto
    the better of both; at 8192 no step could go by lamport."""
    factors = {"fence": lambda tokens: 1, "lamport": lambda tokens: 0.5 if tokens <= 64 else 2,
               "auto": lambda tokens: 0.5 if tokens <= 64 else 1}
    made = []
    for record in records:
        if record["record"] == "bench_header":
            record = json.loads(json.dumps(record))
            record["schema"] = 4
            record["options"]["transports"] = list(factors)
        if record["record"] != "bench_point":
            made.append(record)
            continue
        for transport, factor in factors.items():
            point = json.loads(json.dumps(record))
            lamport = transport == "lamport" and point["tokens"] < 8192 or transport == "auto" and point["tokens"] <= 64
            point.update(transport=transport, taken="lamport" if lamport else "fence", taken_because="r")
            for quantity in plot_bench.QUANTITIES:
                point[quantity]["time_us"] *= factor(point["tokens"])
            made.append(point)
    return made


class Plot(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.older = self.write("older.jsonl", shipped_records())

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, records, torn=""):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
            file.write(torn)
        return self.path(name)

    def run_tool(self, *arguments):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = plot_bench.main(list(arguments))
        return code, shown.getvalue()

    def draw(self, *arguments):
        """The lines drawn: their points in pixels, by name; and all texts."""
        code, text = self.run_tool(*arguments, "--out", self.path("out.svg"))
        self.assertEqual((code, text), (0, ""))
        root = ET.parse(self.path("out.svg")).getroot()
        lines = {}
        for group in root.iter(SVG + "g"):
            points = group.find(SVG + "polyline").get("points").split()
            lines[group.find(SVG + "title").text] = [tuple(map(float, point.split(","))) for point in points]
        return lines, [text.text for text in root.iter(SVG + "text")]

    def test_a_bench_of_an_older_schema_is_one_line(self):
        lines, texts = self.draw(self.older)
        self.assertEqual(list(lines), ["fence", plot_bench.FLOOR_NAME, *plot_bench.NCCL_NAMES.values()])
        for points in lines.values():
            self.assertEqual(len(points), 12)
            self.assertEqual([x for x, _ in points], sorted(x for x, _ in points))
        self.assertIn("tokens per rank", texts)
        self.assertIn("round trip time in microseconds (us)", texts)
        self.assertTrue(any(text.startswith("2 x NVIDIA H200; deepseek_v3: hidden 7168, top-8 of 256") for text in texts))

    def test_the_shipped_bench_has_a_line_for_each_transport(self):
        lines, _ = self.draw(SHIPPED)
        self.assertEqual(list(lines),
                         ["fence", "lamport", "auto", plot_bench.FLOOR_NAME, *plot_bench.NCCL_NAMES.values()])
        self.assertTrue(all(len(points) == 12 for points in lines.values()))

    def test_points_lie_where_their_logarithms_say(self):
        lines, _ = self.draw(self.older)
        times = {record["tokens"]: record["round_trip"]["time_us"] for record in shipped_records()
                 if record["record"] == "bench_point"}
        fence, floor = lines["fence"], lines[plot_bench.FLOOR_NAME]
        pixels_a_factor = (fence[-1][0] - fence[0][0]) / math.log(8192)
        for (x, _), tokens in zip(fence, sorted(times)):
            self.assertAlmostEqual(x, fence[0][0] + pixels_a_factor * math.log(tokens), delta=0.2)
        pixels_a_factor = (fence[0][1] - fence[-1][1]) / math.log(times[8192] / times[1])
        self.assertGreater(pixels_a_factor, 0, "a longer time lies higher")
        for (_, y), tokens in zip(fence, sorted(times)):
            self.assertAlmostEqual(y, fence[0][1] - pixels_a_factor * math.log(times[tokens] / times[1]), delta=0.2)
        self.assertTrue(all(below[1] > above[1] for below, above in zip(floor, fence)), "nothing is below the floor")

    def test_every_transport_has_its_line(self):
        path = self.write("new.jsonl", with_transports(shipped_records()))
        lines, texts = self.draw(path)
        self.assertEqual(list(lines)[:3], ["fence", "lamport", "auto"])
        self.assertEqual([len(lines[name]) for name in ("fence", "lamport", "auto")], [12, 11, 12],
                         "a step that could not go by lamport is none of its points")
        self.assertEqual(lines["lamport"][:5], lines["auto"][:5])
        self.assertEqual(lines["fence"][5:], lines["auto"][5:])
        self.assertGreater(lines["lamport"][0][1], lines["fence"][0][1])
        for name in ("fence", "lamport", "auto"):
            self.assertIn(name, texts)

    def test_phases_have_their_own_yardsticks(self):
        lines, texts = self.draw(self.older, "--of", "dispatch")
        self.assertIn(plot_bench.NCCL_NAMES_OF_DISPATCH["all_gather"], lines)
        self.assertIn("dispatch time in microseconds (us)", texts)
        lines, _ = self.draw(self.older, "--of", "combine", "--title", "a < b")
        self.assertEqual(list(lines), ["fence", plot_bench.FLOOR_NAME])

    def test_several_benches_are_told_apart(self):
        old = self.write("old.jsonl", shipped_records())
        new = self.write("new.jsonl", with_transports(shipped_records()))
        lines, _ = self.draw(old, new)
        self.assertEqual(list(lines)[:4], ["fence (old)", "fence (new)", "lamport (new)", "auto (new)"])
        with open(self.path("out.svg"), encoding="utf-8") as file:
            looks = {colour for line in file if "<polyline" in line for colour in [line.split('stroke="')[1][:7]]}
        self.assertEqual(len(looks), len(lines), "two lines have the same colour")

    def test_the_same_files_are_the_same_bytes(self):
        path = self.write("new.jsonl", with_transports(shipped_records()), torn='{"record": "bench_po')
        pictures = []
        for _ in range(2):
            self.draw(path)
            with open(self.path("out.svg"), "rb") as file:
                pictures.append(file.read())
        self.assertEqual(pictures[0], pictures[1])
        self.assertLess(len(pictures[0]), 40000)

    def test_a_point_without_a_yardstick_and_a_bench_of_one_point(self):
        records = [record for record in shipped_records() if record.get("tokens", 64) == 64]
        for record in records:
            if record["record"] == "bench_nccl_best":
                record["send_receive"]["round_trip"] = None
        lines, _ = self.draw(self.write("one.jsonl", records))
        self.assertEqual(list(lines), ["fence", plot_bench.FLOOR_NAME, plot_bench.NCCL_NAMES["all_gather"]])
        self.assertTrue(all(len(points) == 1 for points in lines.values()))

    def test_one_shape_of_a_grid_is_drawn(self):
        names = ("hidden_size", "top_k", "num_experts", "dtype")
        records = [json.loads(json.dumps(record)) for record in shipped_records()]
        options = records[0]["options"]
        shape = {**{name: options.pop(name) for name in names}, "dispatch_format": None, "low_precision_combine": "none"}
        small = {**shape, "hidden_size": 2880, "dispatch_format": "nvfp4"}
        options["shapes"] = [{**one, "dispatch_bytes_per_token": 9, "combine_bytes_per_token": 9} for one in (shape, small)]
        points = [record for record in records if record["record"] == "bench_point"]
        for point in points:
            point["shape"] = shape
        faster = [json.loads(json.dumps({**point, "shape": small})) for point in points]
        for point in faster:
            point["round_trip"]["time_us"] /= 2
        file = self.write("grid.jsonl", records[:1] + points + faster)
        first, texts = self.draw(file, "--shape", "1")
        self.assertTrue(any("hidden 7168, top-8 of 256, bf16" in text for text in texts))
        second, texts = self.draw(file, "--shape", "2")
        self.assertTrue(any("hidden 2880, top-8 of 256, nvfp4" in text for text in texts))
        for drawn, of_shape, number in ((first, points, "1"), (second, faster, "2")):
            alone = self.write("alone.jsonl", records[:1] + of_shape)
            self.assertEqual(drawn, self.draw(alone, "--shape", number)[0])
        self.assertNotEqual(first, second)
        for arguments, said in (((), "--shape N says which"), (("--shape", "3"), "no shape 3")):
            code, text = self.run_tool(file, *arguments, "--out", self.path("x"))
            self.assertEqual(code, 5)
            self.assertIn(said, text)

    def test_what_cannot_be_drawn_is_told(self):
        header = shipped_records()[:1]
        self.assertEqual(self.run_tool(self.write("none.jsonl", header), "--out", self.path("x"))[0], 3)
        for name, records, torn in (("empty", [], ""), ("case", [{"record": "case"}], ""), ("number", [3], ""),
                                    ("torn", header, '{"a\n'),
                                    ("odd", header + [{"record": "bench_point", "tokens": 1}], "")):
            code, text = self.run_tool(self.write(name, records, torn), "--out", self.path("x"))
            self.assertEqual(code, 5, name)
            self.assertRegex(text, rf"\Aplot_bench: [^\n]*{name}[^\n]*\n\Z")
        self.assertEqual(self.run_tool("/nowhere/bench.jsonl", "--out", self.path("x"))[0], 5)
        self.assertEqual(self.run_tool(SHIPPED, "--out", "/nowhere/x.svg")[0], 5)
        self.assertEqual(self.run_tool(SHIPPED)[0], 5)
        self.assertFalse(os.path.exists(self.path("x")))


if __name__ == "__main__":
    unittest.main()
