# SPDX-License-Identifier: Apache-2.0
"""The figures. Each is a function of Results that draws one and returns it, or says in an
exception what it lacks."""

import math

import labels
import look
import series

RATE = "items_per_second"
CHURN = ("BM_PoolChurn", "BM_NaiveChurn")
ALLOC = ("BM_PoolAlloc", "BM_NaiveAlloc")


class Missing(Exception):
    pass


def _way(name):
    return labels.way(name.family, name.templates)


def _draw_ways(axes, lines):
    """kvpage's lines in blue, others' in other colours and dashed; the topmost first."""
    ours = [*labels.KVPAGE.values(), *(w for w in sorted(lines) if w.startswith("kvpage"))]
    others = [*labels.NAIVE.values(), *sorted(lines)]
    for way in sorted(lines, key=lambda w: (not w.startswith("kvpage"), -lines[w][0].y)):
        group, colours, dash = (
            (ours, look.KVPAGE, "-") if way in ours else (others, look.OTHERS, "--")
        )
        at = group.index(way)
        colour, marker = colours[at % len(colours)], look.MARKERS[at % len(look.MARKERS)]
        look.line(axes, lines[way], colour, marker, dash, label=way)
        refused = [p for p in lines[way] if p.values.get("missing", 0) > 0]
        look.line(
            axes, refused, colour, marker, "none",
            markerfacecolor=look.CARD, markeredgecolor=colour, markeredgewidth=1.6,
        )  # fmt: skip


def rate_over_occupancy(results):
    threads = max(
        (b.name.arg("threads", 0) for b in results.benchmarks if b.name.family == CHURN[0]),
        default=0,
    )
    lines = series.collect(
        results, CHURN, x="held_permille", y=RATE, key=_way, best=min,
        where={"threads": threads, "interleaved": 0},
    )  # fmt: skip
    lines = {  # what is left: 99 % and 99.9 % full are as different as 0 % and 90 %
        way: [p._replace(x=max(1 - p.x / 1000, 1e-4)) for p in points]
        for way, points in lines.items()
    }
    if not lines:
        raise Missing("no BM_PoolChurn with held_permille")
    who = f"{threads:,}".replace(",", "\u2009")
    fig, axes = look.figure(
        "How full the pool is",
        f"{who} threads take a block and give it back, again and again; the held blocks lie "
        "packed or scattered, whichever is slower",
        width=9,
    )
    axes = axes[0]
    _draw_ways(axes, lines)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.invert_xaxis()
    ticks = {p.x for points in lines.values() for p in points}
    for extra in (1, 0.5, 0.1, 0.01, 0.001):
        if all(abs(math.log10(extra / tick)) > 0.15 for tick in ticks):
            ticks.add(extra)
    look.plain_log(axes.xaxis, ticks=sorted(ticks))
    axes.xaxis.set_major_formatter(lambda left, _: f"{100 - 100 * left:.4g} %")
    look.rates(axes.yaxis)
    axes.set_xlabel("blocks that stay held meanwhile (logarithmic in what is left)")
    axes.set_ylabel("blocks taken and given back per second")
    if any(p.values.get("missing", 0) > 0 for points in lines.values() for p in points):
        axes.annotate(
            "hollow: some requests were told Full", (0.01, 0.03), xycoords="axes fraction",
            fontsize=8, color=look.MUTED,
        )  # fmt: skip
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    look.caption(fig, labels.caption(results, series.sources(results, *CHURN)))
    return fig


def rate_over_threads(results):
    where = {"held_permille": 0, "random": 0, "interleaved": 0}
    panels = [
        (title, series.collect(results, families, x="threads", y=RATE, key=_way, where=where))
        for title, families in (("take", ALLOC), ("take and give back, in turn", CHURN))
    ]
    if not any(lines for _, lines in panels):
        raise Missing("no BM_PoolAlloc and no BM_PoolChurn with threads")
    fig, both = look.figure(
        "How many threads want blocks",
        "blocks per second from a pool with enough for all; dotted: plain atomics per second, "
        "the hardware's limits",
        columns=2, width=10.5, height=5.6,
    )  # fmt: skip
    limits = series.limits(results, labels.LIMITS)
    for axes, (title, lines) in zip(both, panels):
        _draw_ways(axes, lines)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        for rate in limits.values():
            axes.axhline(rate, color=look.MUTED, linewidth=1, linestyle=":", zorder=1)
        axes.set_title(title)
        axes.set_xlabel("threads")
    for word, rate in limits.items():
        both[-1].annotate(
            word, (1.01, rate), xycoords=("axes fraction", "data"),
            va="center", fontsize=8, color=look.MUTED,
        )  # fmt: skip
    look.rates(both[0].yaxis)
    both[0].set_ylabel("blocks per second")
    look.legend_below(fig, both, columns=4)
    files = series.sources(results, *ALLOC, *CHURN, "BM_LimitAtomics")
    look.caption(fig, labels.caption(results, files))
    return fig


def step_latency(results):
    family = "BM_StepAppendOne"
    lines = series.collect(
        results, [family], x="rows", y="over_empty_us", best=min,
        key=lambda name: name.arg("num_blocks", 0),
    )  # fmt: skip
    if not lines:
        raise Missing(f"no {family} with over_empty_us")
    fig, axes = look.figure(
        "One decoding step",
        "one token more for each row, with its slot and status: a node of a CUDA graph",
    )
    axes = axes[0]
    for i, num_blocks in enumerate(sorted(lines)):
        colour = (look.KVPAGE[0], *look.OTHERS)[i % len(look.OTHERS)]
        marker = look.MARKERS[i % len(look.MARKERS)]
        label = f"{labels.power_of_two(num_blocks)} blocks"
        look.line(axes, lines[num_blocks], colour, marker, label=label)
    points = [p for line in lines.values() for p in line]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    look.plain_log(axes.xaxis, ticks=sorted({p.x for p in points}))
    look.plain_log(axes.yaxis, ticks=[d * 10**e for e in range(-1, 4) for d in (1, 2, 5)])
    axes.set_ylim(min(1, 0.8 * min(p.y for p in points)), 1.5 * max(p.y for p in points))
    axes.set_xlabel("rows in the batch")
    axes.set_ylabel("time over that of an empty node, \u00b5s")
    axes.legend(loc="upper left", title="pool of", alignment="left")
    look.caption(fig, labels.caption(results, series.sources(results, family)))
    return fig


def slice_imbalance(results):
    kernels = [k for k in results.kernels if k.get("slice_requests_avg")]
    if not kernels:
        raise Missing("no profile with requests by L2 slice")
    fig, axes = look.figure(
        "How evenly the L2 is used",
        "requests to the least and to the most used L2 slice, over those to the average slice",
        height=1.7 + 0.24 * len(kernels),
    )
    axes = axes[0]
    floor = 0.05  # a slice without any request would lie below every logarithm
    highest = 1.0
    for y, kernel in enumerate(reversed(kernels)):
        average = kernel["slice_requests_avg"]
        low = max((kernel["slice_requests_min"] or 0) / average, floor)
        high = kernel["slice_requests_max"] / average
        highest = max(highest, high)
        colour, marker = (look.OTHERS[0], "D") if high >= 2 else (look.KVPAGE[0], "o")
        axes.plot([low, high], [y, y], color=colour, linewidth=5, solid_capstyle="butt")
        axes.plot(high, y, marker, color=colour, markersize=7)
        axes.annotate(
            f"{high:.3g}", (high, y), xytext=(9, 0), textcoords="offset points",
            va="center", fontsize=8.5,
        )  # fmt: skip
    axes.axvline(1, color=look.MUTED, linewidth=1)
    axes.set_xscale("log")
    look.plain_log(axes.xaxis, ticks=[d * 10**e for e in range(-1, 3) for d in (1, 2, 5)])
    axes.set_xlim(floor, highest * 2)
    axes.set_ylim(-0.7, len(kernels) - 0.3)
    axes.set_yticks(range(len(kernels)), [k["name"] for k in reversed(kernels)], fontsize=8.5)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("multiples of the average; orange where the busiest slice has 2 or more")
    look.caption(fig, labels.caption(results, sorted({k["source"] for k in kernels})))
    return fig


ALL = (rate_over_occupancy, rate_over_threads, step_latency, slice_imbalance)
