#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layering checker must pass a good tree, and name each kind of fault in a bad one."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_layering  # noqa: E402

GOOD = {
    "include/kvpage/core/a.h": "#include <atomic>\n",
    "include/kvpage/core/b.h": '#include "kvpage/core/a.h"\n',
    "include/kvpage/pool.h": '#include <span>\n#include "absl/status/statusor.h"\n'
    '#include "kvpage/core/b.h"\n',
    "include/kvpage/cuda/pool.h": '#include "kvpage/pool.h"\n',
    "include/kvpage/cuda/pool.cuh": '#include <cuda/atomic>\n#include "kvpage/core/b.h"\n',
    "src/pool.cc": '#include "kvpage/pool.h"\n',
    "cuda/launchers.h": "#include <cuda_runtime_api.h>\n",
    "cuda/pool.cu": '#include "kvpage/cuda/pool.cuh"\n#include "cuda/launchers.h"\n',
    "cuda/pool.cc": '#include "kvpage/cuda/pool.h"\n#include "cuda/launchers.h"\n',
}


def problems_of(changes):
    """The problems of the good tree with `changes` (path -> text) put into it."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**GOOD, **changes}.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_layering.Checker(root).run()


class CheckLayeringTest(unittest.TestCase):
    def assert_one_problem(self, changes, path, words):
        problems = problems_of(changes)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(path + ":"), problems[0])
        self.assertIn(words, problems[0])

    def test_a_good_tree_passes(self):
        self.assertEqual(problems_of({}), [])

    def test_each_place_refuses_what_lies_above_it(self):
        absl, atomic = '#include "absl/types/span.h"\n', "#include <cuda/atomic>\n"
        runtime, device = "#include <cuda_runtime.h>\n", '#include "kvpage/cuda/pool.cuh"\n'
        for path, text in [
            ("include/kvpage/core/a.h", absl),
            ("include/kvpage/core/c.h", '#include "kvpage/pool.h"\n'),
            ("include/kvpage/core/c.h", atomic),
            ("include/kvpage/other.h", '#include "kvpage/cuda/pool.h"\n'),
            ("include/kvpage/other.h", runtime),
            ("include/kvpage/cuda/other.h", runtime),
            ("include/kvpage/cuda/other.h", device),
            ("include/kvpage/cuda/other.cuh", absl),
            ("include/kvpage/cuda/other.cuh", '#include "kvpage/pool.h"\n'),
            ("src/other.cc", '#include "kvpage/cuda/pool.h"\n'),
            ("src/other.cc", runtime),
            ("cuda/other.cu", absl),
            ("cuda/other.cu", '#include "kvpage/cuda/pool.h"\n'),
            ("cuda/other.cc", device),
            ("cuda/other.cc", atomic),
        ]:
            with self.subTest(path=path, text=text):
                self.assert_one_problem({path: text}, path, "includes")

    def test_a_kernel_must_not_reach_abseil_through_a_launcher_header(self):
        launchers = '#include "absl/status/status.h"\n'
        self.assert_one_problem({"cuda/launchers.h": launchers}, "cuda/pool.cu", "reaches")

    def test_an_include_that_is_nowhere_is_a_problem(self):
        self.assert_one_problem({"src/x.cc": '#include "x.h"\n'}, "src/x.cc", "unknown")

    def test_the_library_must_not_include_tests(self):
        changes = {"tests/y.h": "", "src/x.cc": '#include "tests/y.h"\n'}
        self.assert_one_problem(changes, "src/x.cc", "no place of the library")

    def test_a_file_without_a_place_is_a_problem(self):
        self.assert_one_problem({"src/x.cu": ""}, "src/x.cu", "no place for such a file")

    def test_a_long_file_needs_a_reason_in_the_architecture(self):
        changes = {"src/long.cc": "\n" * 301}
        self.assert_one_problem(changes, "src/long.cc", "301 lines")
        changes["ARCHITECTURE.md"] = "src/long.cc is one table."
        self.assertEqual(problems_of(changes), [])


if __name__ == "__main__":
    unittest.main()
