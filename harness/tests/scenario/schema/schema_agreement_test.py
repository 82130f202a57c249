#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the JSON Schemas and the typed reader agree: on every shipped file, and on mutated ones.

The schema must refuse exactly what the reader refuses as a matter of form. What only the reader can say (how values go
together, a key that is there twice, how a number is spelled) it calls a relation, and the schema must let that pass.
"""

import argparse
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("needs the Python package jsonschema 4 (Debian and Ubuntu: python3-jsonschema; tools/check installs it)")

SEED = 20250914  # any; the mutations that it gives are judged below
MIN_REFUSED, MIN_ACCEPTED = 0.30, 0.15  # of the mutations of a kind, else they test too little

# Values that are wrong nearly everywhere, and some that are right in places.
ODD_VALUES = [None, True, False, 0, 1, 2, -1, 3, 33, 256, 257, 2.0, 2.5, -0.5, 1e30, 2**31, 2**32, 2**53, 2**63, 2**64,
              "", "x", "bf16", "fp32", "vary", "uniform", "timeout", "Word", "two words", "smoke\n", "a\tb", "é", "zip",
              [], [1], [[]], {}, {"rank": 1}, {"x": 1}, [None], ["a", "a"], [1, 1]]
ODD_KEYS = ["step", "Ranks", "", "inject.rank", "axes", "x", "hidden_size", "steps", "invalid_percent", "topk_weights",
            "inject", "exclude", "include", "tags", "late_us", "description"]


def places(node, path=()):
    """All (container, key) of a tree."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(items):
        yield node, key
        yield from places(value, path + (key,))


def near(rng, value):
    """A value like this one, on either side of a bound."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, value * 1000, value + 2**20, float(value), value + 0.5])
    if isinstance(value, str):
        return rng.choice([value + "x", value.upper(), value[:-1], value + "\n", [value], value.encode().hex()])
    return rng.choice([[value], {"x": value}, None])


def mutate_once(rng, root):
    container, key = rng.choice(list(places(root)))
    how = rng.randrange(9)
    if how == 0:
        container[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif how in (1, 2):
        container[key] = near(rng, container[key])
    elif how == 3:
        del container[key]
    elif how == 4:
        target = container if isinstance(container, dict) else next((c for c, _ in places(root) if isinstance(c, dict)))
        target[rng.choice(ODD_KEYS)] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif how == 5:  # something from elsewhere in the same file
        other, other_key = rng.choice(list(places(root)))
        container[key] = copy.deepcopy(other[other_key])
    elif how in (6, 7):  # mostly still right
        value = container[key]
        if isinstance(value, int) and not isinstance(value, bool):
            container[key] = value + rng.choice([1, 2, 3, -1])
        elif isinstance(value, str):
            container[key] = value + rng.choice(["x", "_2", "."])
        elif isinstance(value, dict) and value:
            del value[rng.choice(sorted(value))]
    elif isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    else:  # under another name
        container[rng.choice(ODD_KEYS)] = container.pop(key)


def mutated(rng, trees):
    tree = copy.deepcopy(rng.choice(trees))
    for scenarios in ("scenarios", "cases"):  # large files would spend most mutations on much the same places
        if isinstance(tree.get(scenarios), list) and len(tree[scenarios]) > 2:
            tree[scenarios] = rng.sample(tree[scenarios], 2)
    if isinstance(tree.get("profiles"), dict):
        for name in rng.sample(sorted(tree["profiles"]), max(0, len(tree["profiles"]) - 2)):
            del tree["profiles"][name]
    before = json.dumps(tree)  # as text: for Python 1, 1.0 and true are equal
    while json.dumps(tree) == before:
        mutate_once(rng, tree)
    return tree


def nested(depth):
    return "[" * depth + "]" * depth


MANY = 4096  # counts in one text
COUNTS = [("0", "ok"), ("0:32:32:32/8", "ok"), ("1048576", "ok"), ("1048577", "form"), ("1048569/999999", "ok"),
          ("1048586", "form"), ("1050000", "form"), ("2000000", "form"), ("9999999", "form"), ("1039999:10", "ok"),
          ("10000000", "form"), ("01", "form"), ("00", "form"), ("", "form"), ("1/", "form"), (":1", "form"),
          ("1::1", "form"), ("1 ", "form"), ("1\n", "form"), ("-1", "form"), ("1,2", "form"), (8, "form"),
          ("1:" * (MANY - 1) + "1", "ok"), ("1/" * MANY + "1", "form")]


def by_hand():
    """Suites in which what a mutation seldom meets is wrong: pairs of text and what the reader must say."""
    def suite(more):
        return ('{"suite": "t", "description": "d", "scenarios": [{"name": "s", "sentence": "x", "ranks": 2%s}]}' % more)
    return [
        (suite(""), "ok"),
        ('{"suite": "t", "description": "d", "include": ["smoke"]}', "ok"),
        ('{"suite": "t", "description": "d"}', "form"),
        ('{"suite": "t", "description": "d", "include": []}', "form"),
        ('{"suite": "t", "description": "d", "include": ["a", "a"]}', "form"),
        ('{"suite": "t", "description": "d", "include": ["a\\n"]}', "form"),
        ('{"suite": "t", "description": "d\\n", "include": ["a"]}', "form"),
        ('{"suite": "t", "description": "d\\u007f", "include": ["a"]}', "form"),
        ('{"suite": "t", "description": "\\u00e9", "include": ["a"]}', "ok"),
        ('{"suite": "t", "description": "d", "include": ["a"], "scenarios": []}', "form"),
        ('{"suite": "u", "description": "d", "include": ["smoke"]}', "relation"),
        (suite(', "ranks": 3'), "relation"),
        (suite(', "steps": 2.0'), "relation"),
        (suite(', "steps": 2.5'), "form"),
        (suite(', "steps": -0.0'), "form"),
        (suite(', "steps": 1e3'), "relation"),
        (suite(', "steps": ' + nested(40)), "form"),
        (suite(', "steps": ' + nested(100)), "form"),
        (suite(', "sweep": {"kind": "zip", "axes": {"blocks": [1, 2], "steps": [1]}}'), "relation"),
        (suite(', "sweep": {"kind": "zip", "axes": {"blocks": [1]}, "exclude": [{"blocks": [1]}]}'), "form"),
        (suite(', "sweep": {"kind": "pairwise", "axes": {"blocks": [1, 2], "steps": [1, 2]},'
               ' "exclude": [{"blocks": [1], "steps": [2]}]}'), "ok"),
        (suite(', "sweep": {"kind": "pairwise", "axes": {"blocks": [1, 2]}, "exclude": [{"blocks": [3]}]}'), "relation"),
        (suite(', "sweep": {"kind": "pairwise", "axes": {"blocks": [1, 2]}, "exclude": [{"blocks": ["1"]}]}'), "form"),
        (suite(', "sweep": {"kind": "product", "axes": {"blocks": [1, 1]}}'), "relation"),
        (suite(', "sweep": {"kind": "product", "axes": {"ranks": [1]}}'), "relation"),
        (suite(', "sweep": [{"kind": "zip", "axes": {"blocks": [1]}}, {"kind": "zip", "axes": {"blocks": [2]}}]'),
         "relation"),
        (suite(', "sweep": []'), "form"),
        (suite(', "inject": {}'), "form"),
        (suite(', "inject": {"kind": "stop", "rank": 1, "phase": "combine"}'), "ok"),
        (suite(', "inject.rank": 1'), "form"),
        (suite(', "tags": ["a", "a"]'), "form"),
        *((suite(f', "token_counts": {json.dumps(text)}'), word) for text, word in COUNTS),
        (suite('') + " ", "ok"),
    ]


class Checker:
    def __init__(self, options, folder):
        self.scenarios = options.scenarios
        self.reader = options.reader
        self.folder = folder
        self.disagreements = 0

    def validator(self, kind):
        name = {"suite": "scenario"}.get(kind, kind)
        schema = json.loads((self.scenarios / "schema" / f"{name}.schema.json").read_text())
        Draft202012Validator.check_schema(schema)
        return Draft202012Validator(schema)

    def compare(self, kind, files):
        """Reader and schema on each file; returns what the reader said: ok, form or relation."""
        output = subprocess.run([*self.reader, kind, *map(str, files)], stdout=subprocess.PIPE, check=True).stdout
        lines = output.decode().splitlines()
        if len(lines) != len(files):
            sys.exit(f"the reader said {len(lines)} lines of {len(files)} files")
        validator = self.validator(kind)
        said = []
        for path, line in zip(files, lines):
            word = line.split()[0]
            error = next(validator.iter_errors(json.loads(path.read_text())), None)
            if (word == "form") != (error is not None):
                self.disagreements += 1
                print(f"{path.read_text()}\n  reader: {line}\n  schema: {error.message if error else 'valid'}\n")
            said.append(word)
        return said

    def write(self, number, name, text):
        folder = self.folder / str(number)
        folder.mkdir()
        path = folder / name
        path.write_text(text)
        return path

    def shipped(self, kind):
        if kind == "profiles":
            return [self.scenarios / "profiles.json"]
        if kind == "must_pass":
            return sorted((self.scenarios / "must_pass").glob("*.json"))
        return sorted(path for path in self.scenarios.glob("*.json") if path.name != "profiles.json")

    def check_kind(self, kind, count):
        files = self.shipped(kind)
        refused = [str(path) for path, word in zip(files, self.compare(kind, files)) if word != "ok"]
        if not files or refused:
            sys.exit(f"shipped {kind} files: {len(files)}, of which the reader refuses {refused}")
        rng = random.Random(f"{SEED} {kind}")
        trees = {path.name: json.loads(path.read_text()) for path in files}
        made = []
        for number in range(count):
            name = rng.choice(sorted(trees))
            made.append(self.write(f"{kind}{number}", name, json.dumps(mutated(rng, [trees[name]]))))
        said = self.compare(kind, made)
        counts = {word: said.count(word) for word in ("ok", "form", "relation")}
        print(f"{kind}: {len(files)} shipped, {count} mutated: {counts}")
        if counts["form"] < MIN_REFUSED * count or counts["ok"] < MIN_ACCEPTED * count:
            sys.exit(f"{kind}: these mutations are no good: too few are refused or accepted")

    def check_by_hand(self):
        texts = by_hand()
        files = [self.write(f"hand{number}", "t.json", text) for number, (text, _) in enumerate(texts)]
        for (text, due), word in zip(texts, self.compare("suite", files)):
            if word != due:
                self.disagreements += 1
                print(f"{text}\n  reader: {word}, due: {due}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=pathlib.Path, required=True)
    parser.add_argument("--reader", nargs="+", required=True, help="classify_files, after an emulator where one is due")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(options, pathlib.Path(folder))
        checker.check_kind("suite", 200)
        checker.check_kind("profiles", 60)
        checker.check_kind("must_pass", 60)
        checker.check_by_hand()
    if checker.disagreements:
        sys.exit(f"{checker.disagreements} disagreements")


if __name__ == "__main__":
    main()
