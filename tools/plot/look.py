# SPDX-License-Identifier: Apache-2.0
"""How the figures look.

They stand on a light card of their own, so that they read the same on a light and a dark page.
Colours are from Okabe and Ito's palette, told apart by colour-blind people too; a line is known
by its marker as well. Files do not change unless the numbers do.
"""

import matplotlib
from matplotlib import pyplot, ticker

CARD = "#fbfbf9"
INK = "#1f2328"
MUTED = "#5f6670"
GRID = "#dfe1e4"

# What a line belongs to is its colour; which one it is, its marker and its shade.
KVPAGE = ("#0072b2", "#4a9fd4", "#003a5c", "#7d93b5")
OTHERS = ("#d55e00", "#009e73", "#aa4499", "#a87900", "#8b2e16", "#4f7942", "#6a4c93")
TITLE_INCHES, CAPTION_INCHES = 0.75, 0.34
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def apply():
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "figure.facecolor": CARD,
        "figure.dpi": 160,
        "savefig.facecolor": CARD,
        "axes.facecolor": CARD,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.labelsize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "lines.linewidth": 2,
        "lines.markersize": 6,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib
        "svg.hashsalt": "kvpage",
    })  # fmt: skip


def figure(title, subtitle, columns=1, width=8.0, height=4.6):
    fig, axes = pyplot.subplots(
        1, columns, figsize=(width, height), layout="constrained",
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    _leave_space(fig, below=CAPTION_INCHES)
    fig.text(0.016, 1 - 0.30 / height, title, fontsize=13, fontweight="bold")
    fig.text(0.016, 1 - 0.56 / height, subtitle, fontsize=9.5, color=MUTED)
    return fig, axes[0]


def _leave_space(fig, below):
    """Inches under the axes, whatever the height of the figure; above them is the title."""
    height = fig.get_figheight()
    top, bottom = TITLE_INCHES / height, below / height
    fig.get_layout_engine().set(rect=(0.008, bottom, 0.984, 1 - top - bottom))


def legend_below(fig, axes, columns):
    """One legend for what is drawn in all of the axes."""
    handles = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    rows = -(-len(handles) // columns)
    _leave_space(fig, below=CAPTION_INCHES + 0.1 + 0.2 * rows)
    fig.legend(
        handles.values(), handles.keys(), loc="lower center", ncols=columns,
        bbox_to_anchor=(0.5, (CAPTION_INCHES - 0.06) / fig.get_figheight()),
    )  # fmt: skip


def line(axes, points, colour, marker, dash="-", **more):
    axes.plot(
        [p.x for p in points], [p.y for p in points], color=colour, marker=marker,
        linestyle=dash, **{"markeredgecolor": CARD, "markeredgewidth": 0.8, **more},
    )  # fmt: skip


def caption(fig, text):
    fig.text(0.016, 0.13 / fig.get_figheight(), text, fontsize=7.5, color=MUTED)


def rates(axis):
    """A logarithmic axis of rates, written 10 k, 1 M, 10 G."""
    axis.set_major_formatter(ticker.EngFormatter(sep=" "))
    axis.set_minor_formatter(ticker.NullFormatter())


def plain_log(axis, base=10, ticks=None):
    if ticks:
        axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())
    axis.set_minor_locator(ticker.NullLocator() if ticks else ticker.LogLocator(base, "auto"))


def save(fig, directory, name):
    """Writes the figure as SVG and PNG."""
    directory.mkdir(parents=True, exist_ok=True)
    for kind, metadata in (("svg", {"Date": None, "Creator": None}), ("png", {"Software": None})):
        fig.savefig(directory / f"{name}.{kind}", metadata=metadata)
    pyplot.close(fig)
