#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profile must read ncu's report, and do without what a GPU lacks."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PROFILE = pathlib.Path(__file__).resolve().parents[2] / "tools/profile"
sys.path.insert(0, str(PROFILE))
import metrics  # noqa: E402
import ncu_csv  # noqa: E402
import table  # noqa: E402

REPORT = """\
==PROF== Connected to process 4711 (/tmp/profile_kernels)
==PROF== Profiling "DenominatorNaive" - 0: 0%....50%....100% - 9 passes
a line of the program, "quoted", with commas
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",\
"Grid Size","Device","CC","gpu__time_duration.sum","dram__bytes_read.sum",\
"dram__bytes_write.sum","lts__t_requests.avg","lts__t_requests.max","lts__t_sectors_op_atom.sum"
"","","","","","","","","","","","us","Mbyte","Kbyte","","",""
"0","4711","profile_kernels","host","kvpage::bench::DenominatorNaive(const float *, float, \
float *)","1","7","(256, 1, 1)","(65536, 1, 1)","0","9.0","29,400.50","67.2","0","5,461.3",\
"338,601","n/a"
"1","4711","profile_kernels","host","void kvpage::bench::PoolAlloc<kvpage::bench::Interleaved>\
(kvpage::BlockPoolStorage, unsigned int *)","1","7","(256, 1, 1)","(2048, 1, 1)","0","9.0","10",\
"4","1,000","200","400","16,384"
"2","4711","profile_kernels","host","void kvpage::bench::PoolAlloc<kvpage::bench::Interleaved>\
(kvpage::BlockPoolStorage, unsigned int *)","1","7","(256, 1, 1)","(2048, 1, 1)","0","9.0","12",\
"4","1,000","200","500","16,386"
==WARNING== Note: Running with uncontrolled GPU frequency.
"""


class NcuCsvTest(unittest.TestCase):
    def test_reads_launches_between_other_lines(self):
        launches = ncu_csv.launches(REPORT)
        self.assertEqual(
            [name for name, _ in launches],
            ["DenominatorNaive", "PoolAlloc<Interleaved>", "PoolAlloc<Interleaved>"],
        )
        naive = launches[0][1]
        self.assertEqual(naive["gpu__time_duration.sum"], 29400.5e3)
        self.assertEqual(naive["dram__bytes_read.sum"], 67.2e6)
        self.assertIsNone(naive["lts__t_sectors_op_atom.sum"])
        self.assertNotIn("Kernel Name", naive)

    def test_a_report_without_launches_is_empty(self):
        self.assertEqual(ncu_csv.launches("==ERROR== ERR_NVGPUCTRPERM\n"), [])

    def test_short_names(self):
        for name, short in {
            "kvpage::bench::<unnamed>::Empty()": "Empty",
            "void kvpage::(anonymous namespace)::Run<(int)3>(int)": "Run<3>",
            "void a::Add<(unsigned int)256>(unsigned int *)": "Add<256>",
            "void a::Add<256u>(unsigned int *)": "Add<256>",
            "void k::CommitRows<k::SequencesInterleaved>(k::PageTableStorage, k::CommitDraftBatch)":
                "CommitRows<SequencesInterleaved>",
            "void a::Of<a::b::First, a::Second>(a::Of<int, void (*)(int)>)": "Of<First, Second>",
            "Plain": "Plain",
        }.items():
            self.assertEqual(ncu_csv.short_name(name), short)

    def test_numbers_come_in_nanoseconds_and_bytes(self):
        for text, unit, value in [
            ("1,234", "", 1234),
            ("2.5", "msecond", 2.5e6),
            ("2.5", "second", 2.5e9),
            ("7", "nsecond", 7),
            ("3", "Gbyte/second", 3e9),
            ("3", "byte/s", 3),
            ("88.91", "%", 88.91),
        ]:
            self.assertEqual(ncu_csv.number(text, unit), value)
        for text in ("n/a", "", "(!) nan%"):
            self.assertIsNone(ncu_csv.number(text))

    def test_unknown_metrics(self):
        output = (
            "==ERROR== Failed to find metric regex:^lts__d_none.(max|avg)$\n"
            "==ERROR== Failed to find metric lts__t_gone.sum\n"
        )
        self.assertEqual(ncu_csv.unknown_metrics(output), {"lts__d_none", "lts__t_gone"})
        self.assertEqual(ncu_csv.unknown_metrics(REPORT), set())


class MetricsTest(unittest.TestCase):
    def test_medians_and_what_follows_from_them(self):
        naive, alloc = metrics.summarise(ncu_csv.launches(REPORT))
        self.assertEqual((naive["name"], naive["launches"]), ("DenominatorNaive", 1))
        self.assertAlmostEqual(naive["slice_imbalance"], 62.0, places=3)
        self.assertEqual((alloc["name"], alloc["launches"]), ("PoolAlloc<Interleaved>", 2))
        self.assertEqual(alloc["time_us"], 11)
        self.assertEqual(alloc["atomic_sectors"], 16385)
        self.assertEqual(alloc["slice_imbalance"], 2.25)
        self.assertAlmostEqual(alloc["dram_bytes_per_second"] / 1e9, (500 + 5000 / 12) / 2)

    def test_what_a_gpu_lacks_is_none(self):
        fields = metrics.derive({"lts__t_sectors.sum": 10.0, "gpu__time_duration.sum": 320.0})
        self.assertEqual(fields["l2_bytes_per_second"], 1e9)
        self.assertEqual(fields["time_us"], 0.32)
        for field in set(fields) - {"l2_bytes_per_second", "time_us"}:
            self.assertIsNone(fields[field])

    def test_every_column_of_the_table_has_its_field(self):
        text = table.render(metrics.summarise(ncu_csv.launches(REPORT)))
        rows = text.splitlines()
        self.assertIn("338.6K", rows[1])
        self.assertIn(" - ", rows[1])
        self.assertEqual(len(rows[0]), len(rows[2]))


# Knows no list of metrics, lacks one of them, and else reports.
FAKE_NCU = f"""\
#!/usr/bin/env python3
import sys
if "--version" in sys.argv:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.0.0 (build 1)")
elif "--query-metrics" in sys.argv:
    sys.exit(1)
elif "lts__t_bytes.sum" in " ".join(sys.argv):
    print("==ERROR== Failed to find metric lts__t_bytes.sum")
    sys.exit(1)
else:
    assert "regex:^(DenominatorNaive|PoolAlloc)(<.*)?$" in sys.argv, sys.argv
    print({REPORT!r})
"""
FAKE_PROGRAM = """\
#!/bin/sh
printf 'DenominatorNaive\\nPoolAlloc<Interleaved>\\n'
"""


class ProgramTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def executable(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_tool(self, *args):
        return subprocess.run(
            [sys.executable, PROFILE / "profile_kernels.py", *args],
            capture_output=True,
            text=True,
            env={**os.environ, "KVPAGE_COMMIT": "abc1234"},
            check=False,
        )

    def test_writes_the_report_and_asks_again_without_what_is_lacking(self):
        out = self.directory / "out.json"
        result = self.run_tool(
            "--ncu", self.executable("ncu", FAKE_NCU),
            "--program", self.executable("program", FAKE_PROGRAM), "--json", out,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("this GPU has no lts__t_bytes", result.stderr)
        self.assertIn("PoolAlloc<Interleaved>", result.stdout)
        report = json.loads(out.read_text())
        self.assertEqual(report["context"]["kvpage_commit"], "abc1234")
        self.assertEqual(report["context"]["ncu"], "2025.3.0.0")
        self.assertEqual(len(report["kernels"]), 2)
        self.assertIsNone(report["kernels"][0]["l2_bytes_per_second"])

    def test_says_what_is_missing(self):
        program = self.executable("program", FAKE_PROGRAM)
        ncu = self.executable("ncu", "#!/bin/sh\necho ==ERROR== ERR_NVGPUCTRPERM; exit 1\n")
        for args, words in [
            (["--ncu", ncu, "--program", self.directory / "none"], "none is missing"),
            (["--ncu", ncu, "--program", program], "may not read"),
        ]:
            result = self.run_tool(*args)
            self.assertEqual(result.returncode, 2)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()
