#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the includes of kvpage to its layers, and its files to their length.

tools/check_layering.py [ROOT]

Reads every file under include/, src/ and cuda/ and prints what breaks a rule; exits 1 if any does.
PLACES is the table of ARCHITECTURE.md as code. What nvcc compiles must also not reach Abseil or a
host class through other files: NVCC_NEVER.
"""

import pathlib
import re
import sys

MAX_LINES = 300

# A place: (which paths, what its files may include).
PLACES = {
    "core": (r"include/kvpage/core/\w+\.h", {"std", "core"}),
    "host header": (r"include/kvpage/\w+\.h", {"std", "absl", "core", "host header"}),
    "cuda host header": (
        r"include/kvpage/cuda/\w+\.h",
        {"std", "absl", "core", "host header", "cuda host header"},
    ),
    "cuda device header": (
        r"include/kvpage/cuda/\w+\.cuh",
        {"std", "libcu++", "toolkit", "core", "cuda device header"},
    ),
    "src": (r"src/[\w/]+\.(h|cc)", {"std", "absl", "core", "host header", "src"}),
    "launcher": (
        r"cuda/[\w/]+\.h",
        {"std", "absl", "toolkit", "core", "host header", "cuda host header", "launcher"},
    ),
    "kernel": (
        r"cuda/[\w/]+\.cuh?",
        {"std", "libcu++", "toolkit", "core", "cuda device header", "launcher", "kernel"},
    ),
    "cuda source": (
        r"cuda/[\w/]+\.cc",
        {"std", "absl", "toolkit", "core", "host header", "cuda host header", "launcher"},
    ),
}
NVCC = {"core", "cuda device header", "kernel"}
NVCC_NEVER = {"absl", "host header", "cuda host header"}

# What is not ours, by the spelling of the include. The first that matches counts.
OUTSIDE = [
    ("libcu++", r"<(cuda|cub|thrust|nv)/.*>"),
    ("toolkit", r"<(cuda|driver_types|vector_types|cooperative_groups|math_constants)[\w/]*(\.h)?>"),
    ("absl", r'["<]absl/.*'),
    ("std", r"<[a-z_]+>"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+(<[^>]+>|"[^"]+")', re.MULTILINE)


def place_of(path):
    for name, (pattern, _) in PLACES.items():
        if re.fullmatch(pattern, path):
            return name
    return None


class Checker:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.problems = []
        self.includes = {}  # path -> [(spelling, kind, path of ours or None)]

    def resolve(self, spelling):
        """The kind of an include, and the file if it is ours."""
        for kind, pattern in OUTSIDE:
            if re.fullmatch(pattern, spelling):
                return kind, None
        for base in ("include/", ""):
            path = base + spelling.strip('"<>')
            if (self.root / path).is_file():
                return place_of(path) or "no place of the library", path
        return "unknown", None

    def read(self, path):
        if path not in self.includes:
            text = (self.root / path).read_text()
            self.includes[path] = [(s, *self.resolve(s)) for s in INCLUDE.findall(text)]
        return self.includes[path]

    def check_table(self, path, place):
        allowed = PLACES[place][1]
        for spelling, kind, _ in self.read(path):
            if kind not in allowed:
                self.problems.append(f"{path}: includes {spelling} ({kind}), but is {place}")

    def check_reach(self, path):
        """What nvcc compiles must not reach NVCC_NEVER by a way that the table alone would allow."""
        seen, stack = {path}, [(path, [path])]
        while stack:
            current, trail = stack.pop()
            for spelling, kind, target in self.read(current):
                if kind not in PLACES[place_of(current)][1]:
                    continue  # the table's business
                if kind in NVCC_NEVER:
                    way = " -> ".join(trail)
                    self.problems.append(f"{path}: reaches {spelling} ({kind}) by {way}")
                elif target and target not in seen:
                    seen.add(target)
                    stack.append((target, trail + [target]))

    def check_length(self, path, excused):
        lines = (self.root / path).read_text().count("\n")
        if lines > MAX_LINES and path not in excused:
            self.problems.append(
                f"{path}: {lines} lines, more than {MAX_LINES}: split it, or name it with the "
                f"reason in ARCHITECTURE.md"
            )

    def run(self):
        architecture = self.root / "ARCHITECTURE.md"
        excused = architecture.read_text() if architecture.is_file() else ""
        paths = sorted(
            file.relative_to(self.root).as_posix()
            for top in ("include", "src", "cuda")
            for file in (self.root / top).rglob("*")
            if file.is_file() and file.name != "CMakeLists.txt"
        )
        if not paths:
            self.problems.append(f"{self.root}: no files to check")
        for path in paths:
            place = place_of(path)
            if place is None:
                self.problems.append(f"{path}: there is no place for such a file")
                continue
            self.check_table(path, place)
            if place in NVCC:
                self.check_reach(path)
            self.check_length(path, excused)
        return self.problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    problems = Checker(root).run()
    print("\n".join(problems) or "layering: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
