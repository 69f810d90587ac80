# SPDX-License-Identifier: Apache-2.0
"""Lines of a figure, collected from benchmarks."""

import typing


class Point(typing.NamedTuple):
    x: float
    y: float
    values: dict  # what else the benchmark reported


def collect(results, families, x, y, key, where=None, best=max):
    """{key(name): [Point]} of the benchmarks that have
    the argument x and the counter y, in the order of x. `where` names arguments that must have a
    value if the benchmark has them; of benchmarks that differ in others the best counts."""
    found = {}
    for benchmark in results.benchmarks:
        name = benchmark.name
        if name.family not in families or name.arg(x) is None or y not in benchmark.values:
            continue
        if any(name.arg(arg, value) != value for arg, value in (where or {}).items()):
            continue
        line = found.setdefault(key(name), {})
        point = Point(name.arg(x), benchmark.values[y], benchmark.values)
        line[point.x] = best(line.get(point.x, point), point, key=lambda p: p.y)
    return {name: [line[at] for at in sorted(line)] for name, line in found.items()}


def limits(results, names):
    """{word: rate} of what the hardware gives, by the template argument: of atomics that are told
    the old value, as an allocator's are, and the best where one was measured several times."""
    found = {}
    for benchmark in results.benchmarks:
        family, (template, *others) = benchmark.name.family, benchmark.name.templates or ("",)
        rate = benchmark.values.get("items_per_second")
        if family.startswith("BM_Limit") and template in names and rate and "kRed" not in others:
            found[names[template]] = max(found.get(names[template], 0), rate)
    return found


def sources(results, *prefixes):
    """The files that the families that begin like this are from."""
    return sorted({b.source for b in results.benchmarks if b.name.family.startswith(prefixes)})
