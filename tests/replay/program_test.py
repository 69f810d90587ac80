#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kvpage-replay as a user does.

program_test.py PROGRAM cpu    on the CPU
program_test.py PROGRAM cuda   the same workloads on CPU and GPU must give the same counts and state;
                               exits with 77 where there is no GPU (1 with KVPAGE_REQUIRE_GPU=1)
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent / "data"
PROGRAM = None


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600
    )


class ProgramTest(unittest.TestCase):
    def report(self, *arguments):
        """The JSON of a run that must go well."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            result = run(*arguments, f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(path.read_text())

    def check_error(self, code, message, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(result.stdout, "")


class CpuTest(ProgramTest):
    def test_shows_something_without_arguments(self):
        result = run()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")  # in a pipe: no progress bar
        self.assertIn("2,000 requests", result.stdout)
        self.assertIn("all clean", result.stdout)

    def test_serves_a_mooncake_trace(self):
        report = self.report(f"--trace={DATA / 'mooncake.jsonl'}", "--strict", "--audit-every=1")
        self.assertEqual(report["workload"]["requests"], 6)
        self.assertEqual(report["counts"]["served"], 6)
        self.assertEqual(report["counts"]["prompt_tokens"], 6700 + 7400 + 2300 + 900 + 23000 + 512)
        self.assertEqual(report["counts"]["generated_tokens"], 400 + 380 + 250 + 3 + 350 + 1)
        self.assertEqual(report["counts"]["preemptions"], 0)
        self.assertTrue(report["audit"]["clean"])
        self.assertEqual(report["audit"]["audits"], report["counts"]["steps"] + 1)
        self.assertEqual(report["audit"]["free_blocks"], report["audit"]["num_blocks"])

    def test_serves_an_azure_trace_with_crlf_and_no_last_line_end(self):
        self.assertIn(b"\r\n", (DATA / "azure_crlf.csv").read_bytes())
        self.assertFalse((DATA / "azure_crlf.csv").read_bytes().endswith(b"\n"))
        report = self.report(f"--trace={DATA / 'azure_crlf.csv'}", "--strict")
        self.assertEqual(report["counts"]["served"], 5)
        self.assertEqual(report["counts"]["prompt_tokens"], 370 + 400 + 850 + 90 + 1300)
        self.assertEqual(report["counts"]["generated_tokens"], 40 + 110 + 50 + 15 + 140)

    def test_a_small_pool_preempts_and_rejects(self):
        report = self.report(f"--trace={DATA / 'mooncake.jsonl'}", "--blocks=900")
        self.assertEqual(report["counts"]["rejected_never_fits"], 1)
        self.assertEqual(report["counts"]["served"], 5)
        self.assertGreater(report["counts"]["preemptions"], 0)
        self.assertGreater(report["counts"]["recomputed_tokens"], 0)

    def test_a_narrow_row_rejects(self):
        report = self.report(f"--trace={DATA / 'mooncake.jsonl'}", "--max-tokens-per-row=7200")
        self.assertEqual(report["counts"]["rejected_table_full"], 2)
        self.assertEqual(report["counts"]["served"], 4)

    def test_limit_takes_the_first_requests(self):
        report = self.report(f"--trace={DATA / 'mooncake.jsonl'}", "--limit=2")
        self.assertEqual(report["workload"]["requests"], 2)

    def test_a_bad_line_is_reported_by_number_and_skipped(self):
        result = run(f"--trace={DATA / 'bad_lines.jsonl'}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("bad_lines.jsonl:2: ", result.stderr)
        self.assertIn("bad_lines.jsonl:3: ", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 2)
        self.check_error(2, "bad_lines.jsonl:2: ", f"--trace={DATA / 'bad_lines.jsonl'}", "--strict")

    def test_is_repeatable_and_depends_on_the_seed(self):
        first = self.report("--requests=200", "--blocks=512")
        second = self.report("--requests=200", "--blocks=512", "--audit-every=100")
        other = self.report("--requests=200", "--blocks=512", "--seed=2")
        for part in ("counts", "pool", "state_hash"):
            self.assertEqual(first[part], second[part])
        self.assertNotEqual(first["counts"], other["counts"])

    def test_speculation_serves_the_same_in_fewer_steps(self):
        plain = self.report("--requests=200", "--blocks=1024")
        arguments = ("--requests=200", "--blocks=1024", "--speculate=4", "--accept=0.7")
        first = self.report(*arguments)
        second = self.report(*arguments, "--audit-every=1")
        other = self.report(*arguments[:-1], "--accept=0.2")
        for part in ("counts", "pool", "state_hash"):
            self.assertEqual(first[part], second[part])
        for report in (first, other):
            for count in ("served", "prompt_tokens", "generated_tokens"):
                self.assertEqual(report["counts"][count], plain["counts"][count])
        self.assertLess(first["counts"]["steps"], other["counts"]["steps"])
        self.assertLess(other["counts"]["steps"], plain["counts"]["steps"])
        self.assertLess(other["counts"]["accepted_tokens"], first["counts"]["accepted_tokens"])
        self.assertNotIn("drafts", plain["counts"])

    def test_wrong_use_is_one_line_and_exit_code_2(self):
        self.check_error(2, "no flag --bloks", "--bloks=5")
        self.check_error(2, "--blocks cannot be 'many'", "--blocks=many")
        self.check_error(2, "--blocks must be from 1", "--blocks=0")
        self.check_error(2, "cannot be opened", "--trace=no/such/file")
        self.check_error(2, "cannot be written", "--json=no/such/folder/report.json")
        self.check_error(2, "no request", f"--trace={os.devnull}")

    def test_help_and_version(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("--max-tokens-per-row", result.stdout)
        self.assertEqual(run("--version").returncode, 0)

    def test_progress_is_drawn_if_asked_for(self):
        result = run("--requests=200", "--progress=on")
        self.assertEqual(result.returncode, 0)
        self.assertIn("of 200 requests", result.stderr)


class CudaTest(ProgramTest):
    def check_same(self, *arguments):
        cpu = self.report("--backend=cpu", *arguments)
        cuda = self.report("--backend=cuda", *arguments)
        self.assertGreater(cpu["counts"]["served"], 0)
        for part in ("counts", "pool", "audit", "state_hash"):
            self.assertEqual(cpu[part], cuda[part])

    def test_a_trace_gives_the_same_state(self):
        self.check_same(f"--trace={DATA / 'mooncake.jsonl'}", "--blocks=900")

    def test_preemptions_give_the_same_state(self):
        self.check_same("--requests=300", "--blocks=1024", "--audit-every=200")
        self.check_same("--requests=300", "--blocks=1024", "--admit=chunk")

    def test_speculation_gives_the_same_state(self):
        self.check_same("--requests=300", "--blocks=1024", "--speculate=4", "--audit-every=200")
        self.check_same(f"--trace={DATA / 'mooncake.jsonl'}", "--speculate=7", "--accept=0.9")


def main():
    global PROGRAM
    PROGRAM = sys.argv[1]
    case = {"cpu": CpuTest, "cuda": CudaTest}[sys.argv[2]]
    if case is CudaTest:
        probe = run("--backend=cuda", "--requests=1")
        if probe.returncode != 0:
            print(probe.stderr, end="", file=sys.stderr)
            sys.exit(1 if os.environ.get("KVPAGE_REQUIRE_GPU") == "1" else 77)
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
