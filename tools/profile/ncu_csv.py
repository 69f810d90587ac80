# SPDX-License-Identifier: Apache-2.0
"""Reads what `ncu --csv --page raw` prints.

The report begins somewhere below the lines of the profiled program: one row with the names of the
columns, one with their units, then one for each launch of a kernel.
"""

import csv
import re

# To nanoseconds and bytes (per second), by the unit as ncu spells it.
_TIME = {"": 1, "n": 1, "u": 1e3, "m": 1e6}
_BYTES = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
UNITS = {
    "s": 1e9,
    "second": 1e9,
    **{f"{prefix}s": factor for prefix, factor in _TIME.items() if prefix},
    **{f"{prefix}second": factor for prefix, factor in _TIME.items() if prefix},
    **{f"{prefix}byte{per}": factor
       for prefix, factor in _BYTES.items() for per in ("", "/second", "/s")},
}


def number(text, unit=""):
    """The value in nanoseconds, bytes, or what else the unit is; None if it is no number."""
    try:
        return float(text.replace(",", "")) * UNITS.get(unit, 1)
    except ValueError:
        return None


def short_name(name):
    """A kernel's name without return type, parameters, namespaces and casts: Free<Tag>."""
    name = re.sub(r"\((?:anonymous namespace|bool|(?:unsigned )?(?:int|long))\)", "", name)
    name = name.replace("<unnamed>::", "").removeprefix("void ")
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0:
            name = name[:i]
            break
    name = re.sub(r"(?:::)?\b\w+::", "", name).replace("::", "")
    return re.sub(r"\b(\d+)u?l*\b", r"\1", name).strip()


def launches(text):
    """One (short name, {metric: number or None}) for each launch in the report, in order."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        return []
    rows = list(csv.reader(line for line in lines[begin:] if line.startswith('"')))
    names, units, rows = rows[0], rows[1], rows[2:]
    kernel = names.index("Kernel Name")
    metrics = [i for i, name in enumerate(names) if "__" in name]
    return [
        (short_name(row[kernel]), {names[i]: number(row[i], units[i]) for i in metrics})
        for row in rows
        if len(row) == len(names)
    ]


def unknown_metrics(text):
    """The metrics, without their suffix, that ncu says it does not know."""
    return set(re.findall(r"Failed to find metric (?:regex:)?\^?(\w+)", text))
