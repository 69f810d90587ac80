# SPDX-License-Identifier: Apache-2.0
"""Reads bench/results: Google Benchmark's JSON and the profile's.

A benchmark's name says what was measured, BM_PoolChurn<By::kWarp>/threads:64/manual_time: a
family, template arguments, and named arguments.
"""

import dataclasses
import json
import pathlib
import re
import statistics

# Parts of a name that say how long was measured, and not what.
_NOT_ARGUMENTS = {"iterations", "repeats", "min_time", "min_warmup_time"}


@dataclasses.dataclass(frozen=True)
class Name:
    family: str
    templates: tuple = ()  # of "By::kWarp" the part "kWarp"
    args: tuple = ()  # (name, number) in order; an argument without a name is called by its place

    def arg(self, name, default=None):
        return dict(self.args).get(name, default)


@dataclasses.dataclass
class Benchmark:
    name: Name
    values: dict  # counters and times
    source: str  # file


@dataclasses.dataclass
class Results:
    """All that was measured on one machine."""

    benchmarks: list = dataclasses.field(default_factory=list)
    kernels: list = dataclasses.field(default_factory=list)  # the profile's
    contexts: dict = dataclasses.field(default_factory=dict)  # file -> what it says of itself


def _split(text, separator):
    """Splits where no <, ( or [ is open."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<([") - (c in ">)]")
        if c == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def parse_name(text):
    head, *rest = _split(text, "/")
    match = re.fullmatch(r"([^<]+)<(.*)>", head)
    family = match[1] if match else head
    templates = _split(re.sub(r"\w+::", "", match[2]), ",") if match else ()
    args = []
    for place, part in enumerate(rest):
        name, colon, value = part.rpartition(":")
        if name in _NOT_ARGUMENTS or not re.fullmatch(r"-?\d+(\.\d+)?", value):
            continue
        args.append((name if colon else str(place), float(value) if "." in value else int(value)))
    return Name(family, tuple(part.strip() for part in templates), tuple(args))


def _measured(entries):
    """One entry per run name: the median of its repetitions where there are several."""
    by_name = {}
    for entry in entries:
        if not entry.get("error_occurred"):
            by_name.setdefault(entry.get("run_name", entry["name"]), []).append(entry)
    for name, group in by_name.items():
        medians = [e for e in group if e.get("aggregate_name") == "median"]
        runs = [e for e in group if e.get("run_type") != "aggregate"]
        values = {}
        for entry in medians or runs:
            for key, value in entry.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    values.setdefault(key, []).append(value)
        if values:
            yield name, {key: statistics.median(all_) for key, all_ in values.items()}


def add(results, source, document):
    """Adds a file's content. False if it is neither a benchmark's nor a profile's."""
    context = document.get("context") if isinstance(document, dict) else None
    if not isinstance(context, dict):
        return False
    if "benchmarks" in document:
        for name, values in _measured(document["benchmarks"]):
            results.benchmarks.append(Benchmark(parse_name(name), values, source))
    elif "kernels" in document:
        results.kernels += [dict(kernel, source=source) for kernel in document["kernels"]]
    else:
        return False
    results.contexts[source] = context
    return True


def load(directory):
    """{GPU: Results} of the JSON files in a directory; those without a GPU are left out."""
    by_gpu = {}
    for path in sorted(pathlib.Path(directory).glob("*.json")):
        document = json.loads(path.read_text())
        context = document.get("context", {}) if isinstance(document, dict) else {}
        gpu = context.get("gpu") if isinstance(context, dict) else None
        if gpu:
            add(by_gpu.setdefault(gpu, Results()), path.name, document)
    return by_gpu
