# SPDX-License-Identifier: Apache-2.0
"""The profile as a table for people."""


def count(value):
    """Three digits or more, with K, M or G: 524.3K."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= limit:
            return f"{value / limit:.1f}{suffix}"
    return f"{value:.0f}"


def _giga(value):
    return f"{value / 1e9:.1f}"


def _one(value):
    return f"{value:.1f}"


# Heading, field, how to print it.
COLUMNS = (
    ("time us", "time_us", _one),
    ("cycles", "cycles", count),
    ("L2 hit %", "l2_hit_percent", _one),
    ("DRAM GB/s", "dram_bytes_per_second", _giga),
    ("L2 GB/s", "l2_bytes_per_second", _giga),
    ("loads", "load_requests", count),
    ("stores", "store_requests", count),
    ("atoms", "atomic_requests", count),
    ("reds", "red_requests", count),
    ("atom sect.", "atomic_sectors", count),
    ("red sect.", "red_sectors", count),
    ("instr.", "instructions", count),
    ("occ. %", "occupancy_percent", _one),
    ("slice min", "slice_requests_min", count),
    ("avg", "slice_requests_avg", count),
    ("max", "slice_requests_max", count),
    ("max/avg", "slice_imbalance", _one),
    ("unit avg", "atomic_unit_cycles_avg", count),
    ("max", "atomic_unit_cycles_max", count),
)

LEGEND = """\
loads, stores, atoms, reds: requests of the SMs to global memory; sect.: sectors in the L2.
slice: requests to one L2 slice. unit: cycles that the atomic unit of one slice is active.
"""


def render(kernels):
    rows = [["kernel"] + [heading for heading, _, _ in COLUMNS]]
    for kernel in kernels:
        values = ((kernel[field], show) for _, field, show in COLUMNS)
        rows.append([kernel["name"]] + ["-" if v is None else show(v) for v, show in values])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])])
        for row in rows
    ]
    return "\n".join([*lines, "", LEGEND])
