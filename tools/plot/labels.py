# SPDX-License-Identifier: Apache-2.0
"""Words for what is named in code."""

import re

_UPPER = {"cas": "CAS", "cub": "CUB", "l2": "L2", "sm": "SM"}

# The ways to get a block, in the order in which they get their colours, so that a way looks the
# same in every figure.
KVPAGE = {
    "Warp": "kvpage, by warp",
    "Block": "kvpage, by thread block",
    "Coalesced": "kvpage, by coalesced group",
    "Thread": "kvpage, by thread",
}
NAIVE = {
    "Bump": "bump counter, never frees",
    "Ring": "ring, decrement and restore",
    "TaggedStack": "stack, one tagged head",
    "MutexList": "list under a mutex",
    "Malloc": "device malloc",
}
LIMITS = {
    "kRandom": "random words, by lane",
    "kRandomWords": "random words, by lane",
    "kOneWordByLane": "one word, by lane",
    "kBumpCounter": "one word, by lane",
    "kSpreadByWarp": "64 words apart, by warp",
    "kSpreadCounters": "64 words apart, by warp",
    "kOneWordByWarp": "one word, by warp",
    "kOneCounter": "one word, by warp",
}


def words(enumerator):
    """kOneCounter -> one counter."""
    text = re.sub(r"^k(?=[A-Z])", "", enumerator)
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)
    return " ".join(_UPPER.get(part.lower(), part.lower()) for part in parts)


def way(family, templates):
    """Who takes blocks: BM_PoolChurn, (KvpageWarp,) -> kvpage, by warp."""
    if not templates:
        return "kvpage" if family.startswith("BM_Pool") else words(family.removeprefix("BM_"))
    what = re.sub(r"^(Kvpage|Device|k)(?=[A-Z])", "", templates[0])
    ours = family.startswith("BM_Pool") and not templates[0].startswith("Device")
    return (KVPAGE if ours else NAIVE).get(what) or ("kvpage, by " if ours else "") + words(what)


def power_of_two(n):
    """1048576 -> 1 Mi."""
    for limit_, suffix in ((1 << 30, " Gi"), (1 << 20, " Mi"), (1 << 10, " Ki")):
        if n >= limit_ and n % limit_ == 0:
            return f"{n // limit_}{suffix}"
    return str(n)


def caption(results, files):
    """Machine, driver and commit of the files that a figure is drawn from."""
    contexts = [results.contexts[name] for name in files]

    def each(key):
        return ", ".join(sorted({str(c[key]) for c in contexts if c.get(key)}))

    parts = [each("gpu")]
    if each("driver"):
        parts.append(f"driver {each('driver')}")
    cuda = {int(c["cuda_runtime"]) for c in contexts if str(c.get("cuda_runtime", "")).isdigit()}
    if cuda:
        parts.append("CUDA " + ", ".join(f"{v // 1000}.{v % 1000 // 10}" for v in sorted(cuda)))
    parts.append(f"commit {each('kvpage_commit') or 'unknown'}")
    return f"{', '.join(parts)}; from {', '.join(files)}"
