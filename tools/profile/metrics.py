# SPDX-License-Identifier: Apache-2.0
"""Which counters the profile asks for, and what it makes of them.

A GPU may lack any of them: what cannot be computed is None. Nanoseconds and bytes come in, as
ncu_csv gives them; microseconds and bytes per second go out.
"""

import statistics

METRICS = (
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_elapsed.max",
    "lts__t_sector_hit_rate.pct",
    "dram__bytes.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_bytes.sum",
    "lts__t_sectors.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "lts__t_sectors_op_atom.sum",
    "lts__t_sectors_op_atom.avg",
    "lts__t_sectors_op_atom.max",
    "lts__t_sectors_op_red.sum",
    "lts__t_requests_srcunit_tex_op_atom.sum",
    "lts__t_requests_srcunit_tex_op_atom_dot_alu.sum",
    "lts__t_requests_srcunit_tex_op_atom_dot_cas.sum",
    "lts__t_requests_srcunit_tex_op_red.sum",
    "smsp__inst_executed.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "lts__t_requests.sum",
    "lts__t_requests.min",
    "lts__t_requests.avg",
    "lts__t_requests.max",
    "lts__d_atomic_input_cycles_active.sum",
    "lts__d_atomic_input_cycles_active.avg",
    "lts__d_atomic_input_cycles_active.max",
)


def _sum(*values):
    return None if None in values else sum(values)


def _ratio(value, by, scale=1.0):
    return None if value is None or not by else value / by * scale


def _first(*values):
    return next((v for v in values if v is not None), None)


def derive(raw):
    """The fields of one launch, from {metric: number}."""

    def get(name):
        return raw.get(name)

    def requests(op):
        return get(f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum")

    def l2_requests(op):
        return get(f"lts__t_requests_srcunit_tex_op_{op}.sum")

    nanoseconds = get("gpu__time_duration.sum")
    sectors = get("lts__t_sectors.sum")
    dram = _first(
        get("dram__bytes.sum"), _sum(get("dram__bytes_read.sum"), get("dram__bytes_write.sum"))
    )
    l2 = _first(get("lts__t_bytes.sum"), None if sectors is None else sectors * 32)
    slice_avg, slice_max = get("lts__t_requests.avg"), get("lts__t_requests.max")
    unit_avg = get("lts__d_atomic_input_cycles_active.avg")
    unit_max = get("lts__d_atomic_input_cycles_active.max")
    return {
        "time_us": _ratio(nanoseconds, 1e3),
        "cycles": _first(get("gpc__cycles_elapsed.max"), get("sm__cycles_elapsed.max")),
        "l2_hit_percent": get("lts__t_sector_hit_rate.pct"),
        "dram_bytes_per_second": _ratio(dram, nanoseconds, 1e9),
        "l2_bytes_per_second": _ratio(l2, nanoseconds, 1e9),
        "load_requests": requests("ld"),
        "store_requests": requests("st"),
        "atomic_requests": requests("atom"),
        "red_requests": requests("red"),
        "l2_atomic_requests": _first(
            l2_requests("atom"), _sum(l2_requests("atom_dot_alu"), l2_requests("atom_dot_cas"))
        ),
        "l2_red_requests": l2_requests("red"),
        "atomic_sectors": get("lts__t_sectors_op_atom.sum"),
        "atomic_sectors_imbalance": _ratio(
            get("lts__t_sectors_op_atom.max"), get("lts__t_sectors_op_atom.avg")
        ),
        "red_sectors": get("lts__t_sectors_op_red.sum"),
        "instructions": get("smsp__inst_executed.sum"),
        "occupancy_percent": get("sm__warps_active.avg.pct_of_peak_sustained_active"),
        "theoretical_occupancy_percent": get("sm__maximum_warps_per_active_cycle_pct"),
        "slice_requests_min": get("lts__t_requests.min"),
        "slice_requests_avg": slice_avg,
        "slice_requests_max": slice_max,
        "slice_imbalance": _ratio(slice_max, slice_avg),
        "atomic_unit_cycles_avg": unit_avg,
        "atomic_unit_cycles_max": unit_max,
        "atomic_unit_imbalance": _ratio(unit_max, unit_avg),
    }


def summarise(launches):
    """One {"name", "launches", fields...} per kernel, in the order of their first launch. A field
    is the median over the launches that have it."""
    by_name = {}
    for name, raw in launches:
        by_name.setdefault(name, []).append(derive(raw))
    kernels = []
    for name, runs in by_name.items():
        kernel = {"name": name, "launches": len(runs)}
        for field in runs[0]:
            values = [run[field] for run in runs if run[field] is not None]
            kernel[field] = statistics.median(values) if values else None
        kernels.append(kernel)
    return kernels
