"""The derived metrics of the HPM guide's section 5.2 as it prints them, and counts for them."""

from __future__ import annotations

from collections.abc import Mapping

Mi = 1024 * 1024

TIMES = {"wall_seconds": 2.5, "user_seconds": 2.0, "system_seconds": 0.1, "cpus": 4}
# A clock of 1 GHz; two floating-point units that multiply and add; lines as POWER4 has them.
MACHINE = {
    "cycle_seconds": 1e-9,
    "L1_line_bytes": 128,
    "L2_line_bytes": 128,
    "L3_line_bytes": 512,
    "peak_flops_per_cycle": 4,
}
STATED = {
    "HPM_L2_LATENCY": 12,
    "HPM_L25_LATENCY": 72,
    "HPM_L275_LATENCY": 108,
    "HPM_L3_LATENCY": 102,
    "HPM_L35_LATENCY": 150,
    "HPM_MEM_LATENCY": 400,
    "HPM_TLB_LATENCY": 700,
    "HPM_DIV_WEIGHT": 5,
}
COMMON = {
    "PM_CYC": 2_000_000_000,
    "PM_RUN_CYC": 1_600_000_000,
    "PM_INST_CMPL": 4_000_000_000,
    "PM_INST_DISP": 5_000_000_000,
    "PM_FXU_FIN": 1_000_000_000,
    "PM_LD_REF_L1": 1_000_000_000,
    "PM_ST_REF_L1": 600_000_000,
    "PM_LD_MISS_L1": 50_000_000,
    "PM_ST_MISS_L1": 30_000_000,
    "PM_BR_ISSUED": 400_000_000,
    "PM_BR_MPRED_CR": 6_000_000,
    "PM_BR_MPRED_TA": 2_000_000,
    "PM_DTLB_MISS": 4_000_000,
    "PM_LSU_LDF": 300_000_000,
    "PM_FPU_STF": 100_000_000,
    "PM_FPU_FMA": 400_000_000,
    "PM_FPU_FDIV": 10_000_000,
    "PM_DATA_FROM_L2": 20 * Mi,
    "PM_DATA_FROM_L25_SHR": 2 * Mi,
    "PM_DATA_FROM_L25_MOD": 1 * Mi,
    "PM_DATA_FROM_L275_SHR": 1 * Mi,
    "PM_DATA_FROM_L275_MOD": 1 * Mi,
    "PM_DATA_FROM_L3": 8 * Mi,
}
POWER4 = {
    **COMMON,
    "PM_FPU_FIN": 900_000_000,
    "PM_FPU0_FIN": 500_000_000,
    "PM_FPU1_FIN": 400_000_000,
    "PM_DATA_FROM_L35": 2 * Mi,
    "PM_DATA_FROM_MEM": 4 * Mi,
}
# POWER5 counts additions and multiplications by themselves, and by where memory hangs; what missed
# level 2 is an event whose name begins as those of what hit it.
POWER5 = {
    **COMMON,
    "PM_FPU_1FLOP": 500_000_000,
    "PM_DATA_FROM_L2MISS": 14 * Mi,
    "PM_DATA_FROM_LMEM": 3 * Mi,
    "PM_DATA_FROM_RMEM": 1 * Mi,
}

# The formulas as the guide prints them, in its order, in Python's spelling: `total` is its sum over
# a pattern.
GUIDE = """
    utilisation: 100.0 * user_time / wall_clock_time
    fp_loads_stores: (PM_LSU_LDF + PM_FPU_STF) * 0.000001
    mips: PM_INST_CMPL * 0.000001 / wall_clock_time
    ipc: float(PM_INST_CMPL) / PM_CYC
    instructions_per_run_cycle: float(PM_INST_CMPL) / PM_RUN_CYC
    instructions_per_access: float(PM_INST_CMPL) / (PM_LD_REF_L1 + PM_ST_REF_L1)
    completed_share: 100.0 * PM_INST_CMPL / PM_INST_DISP
    fixed_point_per_cycle: float(PM_FXU_FIN) / PM_CYC
    fixed_point_per_access: float(PM_INST_CMPL) / (PM_LD_REF_L1 + PM_ST_REF_L1)
    branch_misprediction_ratio: 100.0 * (PM_BR_MPRED_CR + PM_BR_MPRED_TA) / PM_BR_ISSUED
    loads_per_load_miss: float(PM_LD_REF_L1) / PM_LD_MISS_L1
    stores_per_store_miss: float(PM_ST_REF_L1) / PM_ST_MISS_L1
    accesses_per_l1_miss: (PM_LD_REF_L1 + PM_ST_REF_L1) / (PM_ST_MISS_L1 + PM_LD_MISS_L1)
    l1_hit_rate: 100.0 * (1.0 - (PM_LD_REF_L1 + PM_ST_REF_L1) / (PM_ST_MISS_L1 + PM_LD_MISS_L1))
    loads_per_tlb_miss: float(PM_LD_REF_L1) / PM_DTLB_MISS
    accesses_per_data_tlb_miss: (PM_LD_REF_L1 + PM_ST_REF_L1) / PM_DTLB_MISS
    loads_from_l2: total("PM_DATA_FROM_L2*") / (1024 * 1024)
    l2_load_traffic: L1_cache_line_size * tot_ld_L2
    l2_load_bandwidth: L1_cache_line_size * tot_ld_L2 / wall_clock_time
    l2_latency: (HPM_L2_LATENCY * PM_DATA_FROM_L2 \
+ HPM_L25_LATENCY * total("PM_DATA_FROM_L25*") \
+ HPM_L275_LATENCY * total("PM_DATA_FROM_L275*")) * cycle_time
    l2_loads_per_cycle: 100.0 * tot_ld_L2 / PM_CYC
    loads_from_local_l2: float(PM_DATA_FROM_L2) / (1024 * 1024)
    local_l2_load_traffic: L1_cache_line_size * tot_ld_l_L2
    local_l2_load_bandwidth: L1_cache_line_size * tot_ld_l_L2 / wall_clock_time
    local_l2_latency: HPM_L2_LATENCY * float(PM_DATA_FROM_L2) * cycle_time
    local_l2_loads_per_cycle: 100.0 * float(PM_DATA_FROM_L2) / PM_CYC
    loads_from_l3: total("PM_DATA_FROM_L3*") / (1024 * 1024)
    l3_load_traffic: L2_cache_line_size * tot_ld_L3
    l3_load_bandwidth: L2_cache_line_size * tot_ld_L2 / wall_clock_time
    l3_latency: (HPM_L3_LATENCY * PM_DATA_FROM_L3 + HPM_L35_LATENCY * PM_DATA_FROM_L35) * cycle_time
    l3_loads_per_cycle: 100.0 * total("PM_DATA_FROM_L3*") / PM_CYC
    loads_from_local_l3: float(PM_DATA_FROM_L3) / (1024 * 1024)
    local_l3_load_traffic: L2_cache_line_size * tot_ld_l_L3
    local_l3_load_bandwidth: L2_cache_line_size * tot_ld_l_L3 / wall_clock_time
    local_l3_latency: HPM_L3_LATENCY * float(PM_DATA_FROM_L3) * cycle_time
    local_l3_loads_per_cycle: 100.0 * float(PM_DATA_FROM_L3) / PM_CYC
    loads_from_memory: float(PM_DATA_FROM_MEM) / (1024 * 1024)
    memory_load_traffic: L3_cache_line_size * tot_ld_mem
    memory_load_bandwidth: L3_cache_line_size * tot_ld_mem / wall_clock_time
    memory_latency: HPM_MEM_LATENCY * float(PM_DATA_FROM_MEM) * cycle_time
    memory_loads_per_cycle: 100.0 * float(PM_DATA_FROM_MEM) / PM_CYC
    loads_from_local_memory: float(PM_DATA_FROM_LMEM) / (1024 * 1024)
    local_memory_load_traffic: L3_cache_line_size * tot_ld_lmem
    local_memory_load_bandwidth: L3_cache_line_size * tot_ld_lmem / wall_clock_time
    local_memory_latency: HPM_MEM_LATENCY * float(PM_DATA_FROM_LMEM) * cycle_time
    local_memory_loads_per_cycle: 100.0 (float(PM_DATA_FROM_LMEM)) / PM_CYC
    tlb_misses_per_cycle: 100.0 * float(PM_DTLB_MISS) / PM_CYC
    tlb_misses_per_run_cycle: 100.0 * float(PM_DTLB_MISS) / PM_RUN_CYC
    tlb_latency: HPM_TLB_LATENCY * float(PM_DTLB_MISS) * cycle_time
    flips: flips * 0.000001
    flips_per_cycle: flips / PM_CYC
    flips_per_run_cycle: flips / PM_RUN_CYC
    flip_rate: flips * 0.000001 / wall_clock_time
    user_flip_rate: flips * 0.000001 / user_time
    flops: (flips := PM_FPU0_FIN + PM_FPU1_FIN + PM_FPU_FMA - PM_FPU_STF) * 0.000001
    flop_rate: flops * 0.000001 / wall_clock_time
    user_flop_rate: flops * 0.000001 / user_time
    algebraic_flops: aflops * 0.000001
    algebraic_flop_rate: aflops * 0.000001 / wall_clock_time
    user_algebraic_flop_rate: aflops * 0.000001 / user_time
    weighted_flops: (flops + (HPM_DIV_WEIGHT - 1) * PM_FPU_FDIV) * 0.000001
    weighted_flop_rate: wflops * 0.000001 / wall_clock_time
    user_weighted_flop_rate: wflops * 0.000001 / user_time
    fma_share: 100.0 * 2 * PM_FPU_FMA / FLOPS_OF_THE_CPU
    computation_intensity: flops / fp_tot_ls
    peak_share: 100.0 * FLOPS_OF_THE_CPU * cycle_time / (4 * user_time)
"""
LITERAL = {
    name.strip(): formula.strip()
    for name, _, formula in (row.partition(":") for row in GUIDE.strip().splitlines())
}


def guides(counts: Mapping[str, float]) -> dict[str, float | None]:
    """Return what the guide's formulas come to, as Python reads them; None if they do not."""

    def total(pattern: str) -> float:
        return sum(count for name, count in counts.items() if name.startswith(pattern[:-1]))

    flops = aflops = None
    if "PM_FPU0_FIN" in counts:
        flops = counts["PM_FPU0_FIN"] + counts["PM_FPU1_FIN"] + counts["PM_FPU_FMA"]
        flops -= counts["PM_FPU_STF"]
    if "PM_FPU_1FLOP" in counts:
        aflops = counts["PM_FPU_1FLOP"] + 2 * counts["PM_FPU_FMA"]
    names = {
        **counts,
        **STATED,
        "total": total,
        "wall_clock_time": TIMES["wall_seconds"],
        "user_time": TIMES["user_seconds"],
        "cycle_time": MACHINE["cycle_seconds"],
        "L1_cache_line_size": MACHINE["L1_line_bytes"],
        "L2_cache_line_size": MACHINE["L2_line_bytes"],
        "L3_cache_line_size": MACHINE["L3_line_bytes"],
        # What the guide's other formulas assign, as it means them.
        "fp_tot_ls": (counts["PM_LSU_LDF"] + counts["PM_FPU_STF"]) * 0.000001,
        "tot_ld_L2": total("PM_DATA_FROM_L2*") / Mi,
        "tot_ld_l_L2": counts["PM_DATA_FROM_L2"] / Mi,
        "tot_ld_L3": total("PM_DATA_FROM_L3*") / Mi,
        "tot_ld_l_L3": counts["PM_DATA_FROM_L3"] / Mi,
        "tot_ld_mem": counts.get("PM_DATA_FROM_MEM", 0) / Mi,
        "tot_ld_lmem": counts.get("PM_DATA_FROM_LMEM", 0) / Mi,
        "flips": counts.get("PM_FPU_FIN"),
        "flops": flops,
        "aflops": aflops,
        "wflops": flops and flops + (STATED["HPM_DIV_WEIGHT"] - 1) * counts["PM_FPU_FDIV"],
        "FLOPS_OF_THE_CPU": flops if aflops is None else aflops,
    }
    found: dict[str, float | None] = {}
    for name, formula in LITERAL.items():
        try:
            found[name] = eval(formula, {}, names)
        except (NameError, TypeError):  # not counted; "100.0 (x)" is a call of a number
            found[name] = None
    return found
