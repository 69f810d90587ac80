#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the algorithms on purpose and sees that the tests notice.

Each mutant is a small change to a header (tools/mutants/catalogue.py). It is applied to a copy of
include/, the one test that must notice is compiled against the copy, and the test must fail. A
mutant whose text is not found exactly once is an error: the catalogue follows the code.

Usage: tools/mutants/mutants.py [--jobs N] [--list] [NAME ...]
  NAME     only mutants whose name contains one of these
  CXX      environment: the compiler, g++ by default
Exit status: 0 if every mutant was noticed and the unchanged code passes, else 1.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import catalogue  # noqa: E402  # pylint: disable=wrong-import-position

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUPPORT = ["counter_history", "fiber", "scheduler", "scheduler_turns", "weak_memory"]
FLAGS = ["-std=c++20", "-O1"]
RUN_SECONDS = 300
KILLED_BY_LIMIT = "did not end"


def compiler():
    return os.environ.get("CXX", "g++")


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)


def compile_support(build):
    """Compiles what all tests share; returns the object files."""
    objects = []
    for name in SUPPORT:
        target = build / f"{name}.o"
        result = run([compiler(), *FLAGS, f"-I{ROOT}", f"-I{ROOT / 'include'}", "-c",
                      str(ROOT / "tests/support" / f"{name}.cc"), "-o", str(target)])
        if result.returncode != 0:
            raise SystemExit(f"tests/support/{name}.cc does not compile:\n{result.stdout}")
        objects.append(str(target))
    return objects


def run_test(folder, include, objects, test, test_filter):
    """Compiles a test against `include` and runs it; returns (passed, what it printed)."""
    binary = folder / "test"
    built = run([compiler(), *FLAGS, f"-I{include}", f"-I{ROOT}", str(ROOT / test), *objects,
                 "-o", str(binary), "-lgtest", "-lgtest_main", "-lpthread"])
    if built.returncode != 0:
        raise RuntimeError(f"{test} does not compile:\n{built.stdout}")
    try:
        result = run([str(binary), f"--gtest_filter={test_filter}", "--gtest_fail_fast"],
                     timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        return False, KILLED_BY_LIMIT
    if "[==========] Running 0 tests" in result.stdout:
        raise RuntimeError(f"{test} has no test {test_filter}")
    return result.returncode == 0, result.stdout


def reason(output):
    """The line that says why a test failed."""
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if line == "Failed" and number + 1 < len(lines):
            return lines[number + 1]
    return lines[-1] if lines else "crashed"


def apply(mutant, include):
    for file, old, new in mutant.edits:
        path = include / "kvpage/core" / file
        text = path.read_text()
        if text.count(old) != 1:
            raise RuntimeError(f"its text occurs {text.count(old)} times in {file}, not once")
        path.write_text(text.replace(old, new))


def check_mutant(mutant, objects):
    """Returns (noticed, what to print)."""
    with tempfile.TemporaryDirectory(prefix="kvpage-mutant-") as name:
        folder = pathlib.Path(name)
        include = folder / "include"
        shutil.copytree(ROOT / "include", include)
        try:
            apply(mutant, include)
            passed, output = run_test(folder, include, objects, mutant.test, mutant.filter)
        except RuntimeError as error:
            return False, f"ERROR: {error}"
    return not passed, "SURVIVED" if passed else reason(output)


def check_unchanged(test, filters, objects):
    """Returns an error message, empty if the unchanged code passes."""
    with tempfile.TemporaryDirectory(prefix="kvpage-mutant-") as name:
        try:
            passed, output = run_test(pathlib.Path(name), ROOT / "include", objects, test,
                                      ":".join(sorted(filters)))
        except RuntimeError as error:
            return str(error)
    return "" if passed else f"{test} fails without any change:\n{output[-4000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--part", default="0/1", metavar="K/N",
                        help="every N-th mutant, from number K on")
    arguments = parser.parse_args()
    mutants = [m for m in catalogue.MUTANTS
               if not arguments.names or any(n in m.name for n in arguments.names)]
    first, step = (int(number) for number in arguments.part.split("/"))
    mutants = mutants[first::step]
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.name:32} {mutant.breaks}")
        return 0
    if not mutants:
        print("no such mutant")
        return 1

    bad = []
    with tempfile.TemporaryDirectory(prefix="kvpage-mutants-") as name:
        objects = compile_support(pathlib.Path(name))
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            filters = {}
            for mutant in mutants:
                filters.setdefault(mutant.test, set()).add(mutant.filter)
            unchanged = [pool.submit(check_unchanged, test, wanted, objects)
                         for test, wanted in sorted(filters.items())]
            errors = [error for error in (job.result() for job in unchanged) if error]
            if errors:
                print("\n".join(errors))
                return 1

            def timed(mutant):
                start = time.monotonic()
                return (*check_mutant(mutant, objects), time.monotonic() - start)

            print(f"{'mutant':32} {'noticed by':60} seconds")
            for mutant, (noticed, text, seconds) in zip(mutants, pool.map(timed, mutants)):
                test = pathlib.Path(mutant.test).stem
                where = f"{test} {mutant.filter}" if noticed else text
                print(f"{mutant.name:32} {where:60} {seconds:7.1f}", flush=True)
                if noticed:
                    print(f"{'':32}   {text[:100]}", flush=True)
                else:
                    bad.append(mutant.name)
    print(f"{len(mutants) - len(bad)} of {len(mutants)} mutants noticed")
    if bad:
        print("not noticed: " + ", ".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
