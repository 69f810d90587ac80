#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the figures are drawn from must be read from the benchmarks' names and files as it is."""

import json
import pathlib
import sys
import tempfile
import unittest
from importlib import util

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/plot"))
import labels  # noqa: E402
import results  # noqa: E402
import series  # noqa: E402


def entry(name, **values):
    return {"name": name, "run_name": name, "run_type": "iteration", **values}


def read(*entries):
    read_into = results.Results()
    document = {"context": {"gpu": "G"}, "benchmarks": list(entries)}
    assert results.add(read_into, "g.json", document)
    return read_into


class NameTest(unittest.TestCase):
    def test_family_templates_and_arguments(self):
        name = results.parse_name(
            "BM_PoolChurn<By::kWarp>/threads:270336/held_permille:500/manual_time"
        )
        self.assertEqual((name.family, name.templates), ("BM_PoolChurn", ("kWarp",)))
        self.assertEqual(name.args, (("threads", 270336), ("held_permille", 500)))
        self.assertEqual(name.arg("held_permille"), 500)
        self.assertIsNone(name.arg("rows"))

    def test_other_forms(self):
        for text, family, templates, args in [
            ("BM_A", "BM_A", (), ()),
            ("BM_A/real_time", "BM_A", (), ()),
            ("BM_A/8/64", "BM_A", (), (("0", 8), ("1", 64))),
            ("BM_A<a::B<c::D, 3>, x::kY>/n:7", "BM_A", ("B<D, 3>", "kY"), (("n", 7),)),
            ("BM_A/n:7/iterations:50/manual_time", "BM_A", (), (("n", 7),)),
            ("BM_A/n:-1/min_time:0.200/repeats:5/threads:16", "BM_A", (),
             (("n", -1), ("threads", 16))),
        ]:  # fmt: skip
            name = results.parse_name(text)
            self.assertEqual((name.family, name.templates, name.args), (family, templates, args))


class ResultsTest(unittest.TestCase):
    def test_repetitions_count_once_by_their_median(self):
        runs = [entry("BM_A/n:1", items_per_second=v) for v in (1.0, 2.0, 9.0)]
        median = entry("BM_A/n:1", items_per_second=2.5)
        median.update(name="BM_A/n:1_median", run_type="aggregate", aggregate_name="median")
        mean = dict(median, aggregate_name="mean", items_per_second=4.0)
        for entries, value in [(runs, 2.0), ([*runs, mean, median], 2.5)]:
            (benchmark,) = read(*entries).benchmarks
            self.assertEqual(benchmark.values["items_per_second"], value)

    def test_failed_benchmarks_are_left_out(self):
        self.assertEqual(read(entry("BM_A", error_occurred=True, real_time=1.0)).benchmarks, [])

    def test_files_are_told_apart_by_their_gpu_and_content(self):
        with tempfile.TemporaryDirectory() as directory:
            for name, document in {
                "a.json": {"context": {"gpu": "G"}, "benchmarks": [entry("BM_A", real_time=1)]},
                "b.json": {"context": {"gpu": "G"}, "kernels": [{"name": "K"}]},
                "c.json": {"context": {"cpu": "C"}, "benchmarks": [entry("BM_B", real_time=1)]},
                "d.json": {"version": 1},
                "e.json": [],
            }.items():
                pathlib.Path(directory, name).write_text(json.dumps(document))
            by_gpu = results.load(directory)
        self.assertEqual(list(by_gpu), ["G"])
        self.assertEqual([b.name.family for b in by_gpu["G"].benchmarks], ["BM_A"])
        self.assertEqual([k["name"] for k in by_gpu["G"].kernels], ["K"])
        self.assertEqual(list(by_gpu["G"].contexts), ["a.json", "b.json"])


class SeriesTest(unittest.TestCase):
    def test_points_are_sorted_and_the_best_of_equals_counts(self):
        got = series.collect(
            read(
                entry("BM_A<W::kX>/threads:64/per_block:32", items_per_second=5.0),
                entry("BM_A<W::kX>/threads:8/per_block:32", items_per_second=1.0),
                entry("BM_A<W::kX>/threads:8/per_block:8", items_per_second=2.0),
                entry("BM_A<W::kY>/threads:8/held:500", items_per_second=3.0),
                entry("BM_B/threads:8", items_per_second=4.0),
            ),
            ["BM_A"],
            x="threads",
            y="items_per_second",
            key=lambda name: name.templates,
            where={"held": 0},
        )
        points = {key: [(p.x, p.y) for p in line] for key, line in got.items()}
        self.assertEqual(points, {("kX",): [(8, 2.0), (64, 5.0)]})

    def test_limits_are_those_with_an_old_value(self):
        limits = series.limits(
            read(
                entry("BM_LimitAtomics<P::kHot, R::kAtom>/rounds:1", items_per_second=1.0),
                entry("BM_LimitAtomics<P::kHot, R::kAtom>/rounds:8", items_per_second=2.0),
                entry("BM_LimitAtomics<P::kHot, R::kRed>/rounds:8", items_per_second=3.0),
                entry("BM_LimitAtomics<P::kOther>/rounds:8", items_per_second=4.0),
                entry("BM_LimitCopy/mib:1", bytes_per_second=5.0),
            ),
            {"kHot": "hot"},
        )
        self.assertEqual(limits, {"hot": 2.0})


class LabelsTest(unittest.TestCase):
    def test_words_of_an_enumerator(self):
        self.assertEqual(labels.words("kCasLoop"), "CAS loop")
        self.assertEqual(labels.words("kOneCounter"), "one counter")

    def test_ways_to_get_a_block(self):
        for family, template, label in [
            ("BM_PoolChurn", "kWarp", "kvpage, by warp"),
            ("BM_PoolChurn", "KvpageWarp", "kvpage, by warp"),
            ("BM_PoolAlloc", "DeviceMalloc", "device malloc"),
            ("BM_NaiveAlloc", "kCasLoop", "CAS loop"),
            ("BM_PoolAlloc", "DeviceOneHead", "one head"),
        ]:
            self.assertEqual(labels.way(family, (template,)), label)
        self.assertEqual(labels.way("BM_PoolAlloc", ()), "kvpage")

    def test_sizes(self):
        for n, text in [(1 << 20, "1 Mi"), (3 << 10, "3 Ki"), (1000, "1000")]:
            self.assertEqual(labels.power_of_two(n), text)


@unittest.skipUnless(util.find_spec("matplotlib"), "no matplotlib")
class FiguresTest(unittest.TestCase):
    def test_each_figure_is_drawn_or_says_what_it_lacks(self):
        import figures
        import look

        look.apply()
        full = read(
            entry("BM_PoolChurn<By::kWarp>/threads:64/held_permille:0", items_per_second=5e9),
            entry("BM_PoolChurn<By::kWarp>/threads:64/held_permille:1000", items_per_second=1e9,
                  missing=0.5),
            entry("BM_StepAppendOne/rows:1/num_blocks:1024", over_empty_us=2.5),
        )  # fmt: skip
        full.kernels = [
            {"name": "K", "source": "g.json", "slice_requests_avg": 2.0,
             "slice_requests_min": 0.0, "slice_requests_max": 64.0},
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as directory:
            out = pathlib.Path(directory, "figures")
            for draw in figures.ALL:
                with self.assertRaises(figures.Missing):
                    draw(results.Results())
                look.save(draw(full), out, draw.__name__)
            self.assertEqual(len(list(out.glob("*.svg"))), 4)
            self.assertEqual(len(list(out.glob("*.png"))), 4)


if __name__ == "__main__":
    unittest.main()
