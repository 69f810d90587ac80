#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of docs/performance.md from the results of the benchmarks.

tools/plot/plot.py [--results DIR] [--out DIR] [--gpu NAME]

Reads the JSON of the CUDA benchmarks and of the profile in bench/results, and writes each figure
as SVG and PNG to docs/figures. A figure whose numbers are not there is passed over.
"""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
try:
    import matplotlib  # noqa: F401
except ImportError:
    print("matplotlib is missing: apt-get install python3-matplotlib, or without root:\n"
          "  python3 -m venv .venv && .venv/bin/pip install matplotlib\n"
          "  make figures PYTHON=.venv/bin/python", file=sys.stderr)  # fmt: skip
    sys.exit(2)

import figures  # noqa: E402
import look  # noqa: E402
import results  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench/results")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/figures")
    parser.add_argument("--gpu", help="whose numbers, where there are several GPUs'")
    args = parser.parse_args()

    by_gpu = results.load(args.results)
    gpus = [gpu for gpu in by_gpu if args.gpu is None or args.gpu in gpu]
    if len(gpus) != 1:
        names = ", ".join(by_gpu) or "none"
        print(f"name one GPU of those in {args.results} with --gpu: {names}", file=sys.stderr)
        return 2
    look.apply()
    for draw in figures.ALL:
        try:
            figure = draw(by_gpu[gpus[0]])
        except figures.Missing as lack:
            print(f"{draw.__name__}: passed over, {lack} in {args.results}")
            continue
        look.save(figure, args.out, draw.__name__)
        print(f"{draw.__name__}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
