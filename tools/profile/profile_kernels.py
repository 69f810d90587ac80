#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles the kernels of the contention laboratory with Nsight Compute.

tools/profile/profile_kernels.py [--program PATH] [--json OUT.json] [--kernels REGEX] ...

Runs bench/profile_kernels under ncu, prints one table and writes the same as JSON, with the
machine, the driver and the commit (KVPAGE_COMMIT in the environment, else git). Clocks are left
as they are: compare kernels within one run. ncu empties the caches before each kernel, unless
--warm is given. Needs ncu and the right to read the GPU's counters; with --from-csv, neither.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import metrics  # noqa: E402
import ncu_csv  # noqa: E402
import table  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bench/profile_kernels"
NO_PERMISSION = "ERR_NVGPUCTRPERM"


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(2)


def run(command):
    """(exit status, everything that the command printed)."""
    # ncu writes numbers as the locale has them.
    result = subprocess.run(
        [str(c) for c in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    return result.returncode, result.stdout


def first_line(command):
    """The first line that a command prints; "unknown" if it fails or is not there."""
    try:
        status, output = run(command)
    except OSError:
        return "unknown"
    return output.splitlines()[0].strip() if status == 0 and output.strip() else "unknown"


def gpu(field):
    return first_line(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader"])


def context(ncu, program, cold):
    described = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    version = re.search(r"Version (\S+)", run([ncu, "--version"])[1]) if ncu else None
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "host_name": platform.node(),
        "gpu": gpu("name"),
        "driver": gpu("driver_version"),
        "ncu": version.group(1) if version else "unknown",
        "kvpage_commit": os.environ.get("KVPAGE_COMMIT") or first_line(described),
        "program": str(program),
        "caches": "cold" if cold else "warm",
    }


def kernel_names(program, pattern):
    status, output = run([program, "--list"])
    if status != 0:
        fail(f"{program} --list failed:\n{output}")
    return [name for name in output.split() if re.search(pattern, name)]


def known_metrics(ncu):
    """The metrics without those that this GPU is known to lack."""
    status, output = run([ncu, "--query-metrics"])
    known = set(re.findall(r"^(\w+__\w+)", output, re.MULTILINE))
    if status != 0 or not known:
        return list(metrics.METRICS)  # it will say which when asked for them
    # Those that are computed from a launch are not in the list.
    computed = ("sm__maximum", "launch__")
    return [m for m in metrics.METRICS if m.split(".")[0] in known or m.startswith(computed)]


def profile(ncu, program, names, runs, cold):
    """What ncu prints. Metrics that it does not know are left out and asked for no more."""
    wanted = known_metrics(ncu)
    functions = "|".join(sorted({name.split("<")[0] for name in names}))
    while True:
        status, output = run([
            ncu, "--csv", "--page", "raw", "--print-units", "base",
            "--print-kernel-base", "demangled", "--clock-control", "none",
            "--cache-control", "all" if cold else "none",
            "--kernel-name-base", "function", "--kernel-name", f"regex:^({functions})(<.*)?$",
            "--metrics", ",".join(wanted), program, "--runs", str(runs),
        ])  # fmt: skip
        unknown = ncu_csv.unknown_metrics(output)
        left = [m for m in wanted if m.split(".")[0] not in unknown]
        if not unknown or len(left) == len(wanted) or not left:
            break
        print(f"this GPU has no {', '.join(sorted(unknown))}", file=sys.stderr)
        wanted = left
    if NO_PERMISSION in output:
        fail(f"ncu may not read this GPU's counters ({NO_PERMISSION}): try as root, or see what "
             f"NVIDIA says about that error")
    if status != 0 or not ncu_csv.launches(output):
        fail(f"ncu failed with status {status}:\n{output[-4000:]}")
    return output


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM, help="profile_kernels")
    parser.add_argument("--ncu", default="ncu", help="ncu, if it is not in PATH")
    parser.add_argument("--kernels", default="", metavar="REGEX", help="only kernels like these")
    parser.add_argument("--runs", type=int, default=3, help="launches of each; the median counts")
    parser.add_argument("--warm", action="store_true", help="leave the caches as they are")
    parser.add_argument("--json", type=pathlib.Path, help="write the table there as JSON")
    parser.add_argument("--raw", type=pathlib.Path, help="write there what ncu printed")
    parser.add_argument("--from-csv", type=pathlib.Path, help="read that instead of running ncu")
    return parser.parse_args()


def main():
    args = arguments()
    ncu = shutil.which(args.ncu) or shutil.which("/usr/local/cuda/bin/ncu")
    if args.from_csv:
        output, names = args.from_csv.read_text(), None
    else:
        if ncu is None:
            fail(f"{args.ncu} is missing: it is Nsight Compute, a part of the CUDA toolkit "
                 f"(package cuda-nsight-compute); or name it with --ncu")
        if not args.program.is_file():
            fail(f"{args.program} is missing: make profile builds it; or name it with --program")
        program = args.program.resolve()
        names = kernel_names(program, args.kernels)
        output = profile(ncu, program, names, args.runs, not args.warm)
    if args.raw:
        args.raw.write_text(output)
    kernels = metrics.summarise(ncu_csv.launches(output))
    if names is not None:
        missing = set(names) - {kernel["name"] for kernel in kernels}
        if missing:
            print(f"not in ncu's report: {', '.join(sorted(missing))}", file=sys.stderr)
        kernels = [kernel for kernel in kernels if kernel["name"] in names]
    print(table.render(kernels))
    if args.json:
        about = context(ncu, args.from_csv or args.program, not args.warm)
        report = {"context": about, "kernels": kernels}
        args.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
