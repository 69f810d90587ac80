#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the PTX of CudaAtomics to one instruction per verb, of the right kind, scope and order.

tests/cuda/check_ptx.py PTX_OF_PTX_VERBS_CU

A verb without a result must be `red`, everything must name the global state space (a generic
address is never turned into `red`) and device scope, and only FenceAcqRel may be a fence.
"""

import re
import sys

EXPECTED = {
    "LoadRelaxed": "ld.relaxed.gpu.global.u{bits}",
    "LoadAcquire": "ld.acquire.gpu.global.u{bits}",
    "StoreRelaxed": "st.relaxed.gpu.global.u{bits}",
    "StoreRelease": "st.release.gpu.global.u{bits}",
    "StoreReleaseSystem": "st.release.sys.global.u{bits}",
    "AddRelaxed": "red.relaxed.gpu.global.add.u{bits}",
    "OrRelease": "red.release.gpu.global.or.b{bits}",
    "FetchAddRelaxed": "atom.relaxed.gpu.global.add.u{bits}",
    "FetchAndRelaxed": "atom.relaxed.gpu.global.and.b{bits}",
    "FetchAndAcquire": "atom.acquire.gpu.global.and.b{bits}",
    "FetchOrRelaxed": "atom.relaxed.gpu.global.or.b{bits}",
    "FetchMinRelaxed": "atom.relaxed.gpu.global.min.u{bits}",
    "ExchangeRelaxed": "atom.relaxed.gpu.global.exch.b{bits}",
    "CompareExchangeRelaxed": "atom.relaxed.gpu.global.cas.b{bits}",
}
KERNEL = re.compile(r"\.entry\s+(\w+)\s*\((.*?)\n}", re.DOTALL)
ATOMIC = re.compile(
    r"\b((?:atom|red|fence|membar)\b[\w.]*|(?:ld|st)\.(?:relaxed|acquire|release|volatile|mmio)[\w.]*)"
)


def expected_kernels():
    kernels = {"FenceAcqRel": ["fence.acq_rel.gpu"]}
    for verb, instruction in EXPECTED.items():
        for bits in (32, 64):
            kernels[f"{verb}{bits}"] = [instruction.format(bits=bits)]
    return kernels


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    found = {name: ATOMIC.findall(body) for name, body in KERNEL.findall(text)}
    problems = []
    for name, instructions in expected_kernels().items():
        if found.get(name) != instructions:
            problems.append(f"{name}: is {found.get(name)}, expected {instructions}")

    used = found.get("UsePool", [])
    for instruction in used:
        is_fence = instruction == "fence.acq_rel.gpu"
        if not is_fence and ".gpu.global" not in instruction:
            problems.append(f"UsePool: {instruction} is not at device scope on global memory")
    for wanted in ("red.relaxed.gpu.global.add.u64", "atom.relaxed.gpu.global.add.u64"):
        if wanted not in used:
            problems.append(f"UsePool: has no {wanted}")

    print("\n".join(problems) or f"ptx: {len(found)} kernels ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
