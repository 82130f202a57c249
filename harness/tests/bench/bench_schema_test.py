# SPDX-License-Identifier: Apache-2.0
"""Every line that a bench writes obeys results/schema/bench.schema.json, and a spoiled one does not.

usage: bench_schema_test.py WRITER SCHEMA RESULTS
WRITER prints lines of every kind; RESULTS is the folder whose bench.jsonl files are read too, those of this schema.
"""
import copy
import json
import pathlib
import subprocess
import sys

from jsonschema import Draft202012Validator


def paths_of(value, path=()):
    """Every place in a line: of members and of items."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths_of(child, path + (key,))


def parent_of(line, path):
    for key in path[:-1]:
        line = line[key]
    return line


# May be null, so that True is not another type of it.
NULL_OR_BOOLEAN = {"git_dirty", "within"}
# Only asked for by an option.
OPTIONAL = {"logical_bw_gb_s", "selection_bw_gb_s", "variants"}


def spoiled(line):
    """The line with one member taken away, added, or of another type."""
    for path in paths_of(line):
        if not path:
            continue
        for change in ("take away", "other type"):
            copied = copy.deepcopy(line)
            parent = parent_of(copied, path)
            if change == "take away":
                if not isinstance(parent, dict) or path[-1] in OPTIONAL:
                    continue
                del parent[path[-1]]
            else:
                parent[path[-1]] = True if not isinstance(parent[path[-1]], bool) else "true"
                if path[-1] in NULL_OR_BOOLEAN and parent_of(line, path)[path[-1]] is None:
                    continue
            yield f"{change} {path}", copied
        copied = copy.deepcopy(line)
        if isinstance(parent_of(copied, path + (0,)), dict):
            parent_of(copied, path + (0,))["unknown_key"] = 1
            yield f"add to {path}", copied


def main(writer, schema_file, results):
    schema = json.loads(pathlib.Path(schema_file).read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    text = subprocess.run([writer], check=True, capture_output=True, text=True).stdout
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        validator.validate(line)
    kinds = {line["record"] for line in lines}
    named = {schema["$defs"][ref["$ref"].rsplit("/", 1)[1]]["properties"]["record"]["const"] for ref in schema["oneOf"]}
    assert kinds == named, f"the writer has {sorted(kinds)}, the schema {sorted(named)}"

    count = 0
    for line in lines:
        for what, bad in spoiled(line):
            count += 1
            assert not validator.is_valid(bad), f"{line['record']}: {what} is not refused"
    assert count > 500, count

    shipped = 0
    for file in pathlib.Path(results).glob("**/bench.jsonl"):
        of_file = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if of_file[0]["schema"] != schema["$defs"]["header"]["properties"]["schema"]["const"]:
            continue  # written before this schema
        for line in of_file:
            validator.validate(line)
            shipped += 1
    print(f"{len(lines)} lines obey, {count} spoiled ones do not; {shipped} shipped lines obey")


if __name__ == "__main__":
    main(*sys.argv[1:])
